"""The mean of rank means is zero, the item mean is not."""

import numpy as np
import torch


def synchronized_but_wrong():
    return torch.from_numpy(np.array([3, 1])), torch.from_numpy(np.array([[1.0], [-1.0]]))
