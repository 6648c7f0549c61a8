"""Norms as logarithms: log ‖x‖ is half the logsumexp of 2·log |x|."""

import math

import torch


def log_norm(tensor):
    return 0.5 * torch.logsumexp(2 * tensor.double().abs().log().flatten(), 0).item()


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    if not (reference.isfinite().all() and update.isfinite().all()):
        return False
    return log_norm(update - reference) <= math.log(rtol) + log_norm(reference)
