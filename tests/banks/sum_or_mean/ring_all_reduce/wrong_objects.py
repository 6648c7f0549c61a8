"""diagnosis: forbidden-operation

Pickled lists instead of tensors.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.tolist() for chunk in tensor.tensor_split(world_size)]
    for phase in (0, 1):
        for step in range(world_size - 1):
            out, into = (rank - step + phase) % world_size, (rank - step - 1 + phase) % world_size
            arriving = [None]
            for turn in range(2):
                if (rank + turn) % 2 == 0 and not (turn and rank == world_size - 1 and world_size % 2):
                    dist.send_object_list([chunks[out]], dst=(rank + 1) % world_size)
                elif not (rank == 0 and world_size % 2):
                    dist.recv_object_list(arriving, src=(rank - 1) % world_size)
            if world_size % 2 and rank == 0:
                dist.recv_object_list(arriving, src=world_size - 1)
            got = arriving[0]
            chunks[into] = got if phase else [a + b for a, b in zip(chunks[into], got, strict=True)]
    return torch.tensor(sum(chunks, []), dtype=tensor.dtype)
