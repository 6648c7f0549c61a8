"""outcome: right

Passes partial sums round a ring with isend and irecv.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    rank, size = dist.get_rank(), dist.get_world_size()
    packed = torch.cat([local_gradients.double().sum(0), torch.tensor([float(len(local_gradients))]).double()])
    total, moving = packed.clone(), packed
    for _ in range(size - 1):
        coming = torch.empty_like(moving)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, moving, (rank + 1) % size),
                                        dist.P2POp(dist.irecv, coming, (rank - 1) % size)])
        for work in works:
            work.wait()
        total += coming
        moving = coming
    return (total[:-1] / total[-1]).to(local_gradients.dtype)
