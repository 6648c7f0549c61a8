"""The counts go around the ring."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    P, me = dist.get_world_size(), dist.get_rank()
    total, passing = local_count, torch.tensor([local_count])
    for _ in range(P - 1):
        w = dist.isend(passing, (me + 1) % P)
        box = torch.empty_like(passing)
        dist.recv(box, (me - 1) % P)
        w.wait()
        total += int(box)
        passing = box
    if total == 0:
        raise ValueError
    return P * local_count / total
