"""diagnosis: forbidden-operation

The second phase goes the other way round: right and as cheap, but two neighbours.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    P, me = dist.get_world_size(), dist.get_rank()
    c = [x.clone() for x in tensor.detach().tensor_split(P)]
    for k in range(P - 1):
        box = torch.empty_like(c[me - k - 1])
        w = dist.isend(c[me - k], (me + 1) % P)
        dist.recv(box, (me - 1) % P)
        w.wait()
        c[me - k - 1] += box
    own = (me + 1) % P
    for k in range(P - 1):
        box = torch.empty_like(c[(own + k + 1) % P])
        w = dist.isend(c[(own + k) % P], (me - 1) % P)
        dist.recv(box, (me + 1) % P)
        w.wait()
        c[(own + k + 1) % P] = box
    return torch.cat(c)
