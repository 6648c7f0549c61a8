"""outcome: right

Gathers sums and counts of all ranks and divides once.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    packed = torch.cat([local_gradients.double().sum(0), torch.tensor([float(len(local_gradients))]).double()])
    gathered = [torch.empty_like(packed) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, packed)
    total = torch.stack(gathered).sum(0)
    return (total[:-1] / total[-1]).to(local_gradients.dtype)
