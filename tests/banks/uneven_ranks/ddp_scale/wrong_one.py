"""diagnosis: mean-of-rank-means

Leaves the local mean alone: what DDP does by default, right for equal counts only."""


def ddp_scale(local_count):
    return 1.0
