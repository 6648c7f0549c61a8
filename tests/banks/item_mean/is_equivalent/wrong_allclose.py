"""diagnosis: wrong-tolerance | wrong-answer

allclose compares element by element and adds an absolute tolerance."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    return reference.shape == update.shape and torch.allclose(update, reference, rtol=rtol)
