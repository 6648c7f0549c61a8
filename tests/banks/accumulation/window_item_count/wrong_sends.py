"""diagnosis: forbidden-operation

Everybody sends to everybody: no collective at all."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    own, total = torch.tensor(sum(microbatch_counts)), sum(microbatch_counts)
    rank, size = dist.get_rank(), dist.get_world_size()
    for step in range(1, size):
        other = torch.zeros_like(own)
        work = dist.isend(own, (rank + step) % size)
        dist.recv(other, (rank - step) % size)
        work.wait()
        total += other.item()
    return total
