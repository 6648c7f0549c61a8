"""diagnosis: raised | rank-crashed

local_gradients[0] on a rank without items: an IndexError there, and the others wait."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients[0].clone()
    for gradient in local_gradients[1:]:
        total += gradient
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
