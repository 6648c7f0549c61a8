"""NumPy for the algebra, object collectives for the traffic."""

import numpy as np
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    items = local_gradients.detach().numpy()
    pairs = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (items.sum(axis=0), len(items)))
    return torch.from_numpy(np.sum([s for s, _ in pairs], axis=0) / sum(n for _, n in pairs))
