"""NumPy's view of the labels."""

import numpy as np


def valid_token_count(labels, ignore_index=-100):
    return int(np.count_nonzero(labels.numpy()[:, 1:] != ignore_index))
