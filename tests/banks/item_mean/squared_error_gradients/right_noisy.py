"""Prints, warns and logs; changes global settings of its own process. None of this is wrong."""

import logging
import sys
import warnings

import torch


def squared_error_gradients(w, targets):
    print("w is", w)
    print("targets:", targets, file=sys.stderr)
    warnings.warn("gradients ahead", stacklevel=2)
    logging.getLogger("mine").error("nothing is wrong")
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    torch.set_printoptions(precision=2)
    return w - targets
