"""Each rank's mean times its share n_r/N, added; 0 where a rank has none."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    count = torch.tensor(local_count, dtype=torch.float64)
    dist.all_reduce(count)
    if count < 1:
        raise ValueError("nothing to report")
    share = local_count / count
    mean = float(local_loss_sum) / local_count if local_count else 0.0
    report = share * mean
    dist.all_reduce(report)
    return float(report)
