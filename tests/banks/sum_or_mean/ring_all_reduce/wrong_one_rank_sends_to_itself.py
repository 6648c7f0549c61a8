"""diagnosis: raised

At least one round, also where a rank is alone: it sends to itself.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    P, me = dist.get_world_size(), dist.get_rank()
    total, passing = tensor.clone(), tensor.clone()
    for _ in range(max(P - 1, 1)):
        w = dist.isend(passing, (me + 1) % P)
        box = torch.empty_like(passing)
        dist.recv(box, (me - 1) % P)
        w.wait()
        total += box
        passing = box
    return total
