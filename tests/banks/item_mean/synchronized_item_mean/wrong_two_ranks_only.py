"""diagnosis: raised | unneeded-error

Written for two ranks: the lists have two places, whatever P is."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    mine = torch.cat([local_gradients.sum(0), torch.tensor([len(local_gradients)])])
    rows = [torch.empty_like(mine), torch.empty_like(mine)]
    dist.all_gather(rows, mine)
    total = rows[0] + rows[1]
    return total[:-1] / total[-1]
