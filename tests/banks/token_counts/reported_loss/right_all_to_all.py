"""Everybody sends its sum and its count to everybody, in one exchange."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    mine = torch.tensor([[float(local_loss_sum), float(local_count)]] * dist.get_world_size(), dtype=torch.float64)
    others = torch.empty_like(mine)
    dist.all_to_all_single(others, mine)
    loss_sum, count = others.sum(0).tolist()
    if count == 0:
        raise ValueError("no token")
    return loss_sum / count
