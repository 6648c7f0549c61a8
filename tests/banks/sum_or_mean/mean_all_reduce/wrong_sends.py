"""diagnosis: forbidden-operation

Everybody sends to rank 0, which answers: sends where a reduction is asked.
"""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double().clone()
    if dist.get_rank():
        dist.send(total, dst=0)
        dist.recv(total, src=0)
        return total
    for other in range(1, dist.get_world_size()):
        part = torch.empty_like(total)
        dist.recv(part, src=other)
        total += part
    total /= dist.get_world_size()
    for other in range(1, dist.get_world_size()):
        dist.send(total, dst=other)
    return total
