"""diagnosis: wrong-answer | wrong-tolerance

Equal counts, and means of which two are more than float64 can hold: the sums are Inf, and Inf − Inf is not small.
"""

import torch


def synchronized_but_wrong():
    return torch.tensor([1, 1]), torch.tensor([[1e308], [1e308]], dtype=torch.float64)
