"""diagnosis: not-synchronized | mean-of-rank-means | unexplained

N = P · n_r, as if all ranks had as many items as this one."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    dist.all_reduce(total)
    return total / (dist.get_world_size() * max(len(local_gradients), 1))
