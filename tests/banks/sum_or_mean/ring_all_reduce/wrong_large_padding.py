"""diagnosis: sent-too-much

Pads every chunk to at least four elements, so that short tensors cost more than they are long.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    size = max(-(-len(tensor) // world_size), 4)
    rows = torch.cat([tensor, tensor.new_zeros(size * world_size - len(tensor))]).reshape(world_size, -1)
    for phase in (0, 1):
        for step in range(world_size - 1):
            out, into = (rank - step + phase) % world_size, (rank - step - 1 + phase) % world_size
            arriving = torch.empty_like(rows[into])
            sending = dist.isend(rows[out].clone(), (rank + 1) % world_size)
            dist.recv(arriving, (rank - 1) % world_size)
            sending.wait()
            rows[into] = arriving if phase else rows[into] + arriving
    return rows.reshape(-1)[: len(tensor)]
