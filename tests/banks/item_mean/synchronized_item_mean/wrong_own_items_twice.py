"""diagnosis: not-synchronized

Gathers everybody's sums, its own included, and adds its own again."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    mine = torch.cat([local_gradients.sum(0), torch.tensor([len(local_gradients)])])
    rows = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, mine)
    total = sum(rows) + mine
    return total[:-1] / total[-1]
