"""diagnosis: mismatched-collectives

Reduces the items themselves, whose number differs between ranks."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    everything = local_gradients.clone()
    dist.all_reduce(everything)
    return everything.sum(0) / (dist.get_world_size() * max(len(everything), 1))
