"""outcome: right

Gathers Python objects, pickled among the ranks.
"""
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, {"total": local_gradients.double().sum(0), "count": len(local_gradients)})
    total = sum(each["total"] for each in everyone)
    return (total / sum(each["count"] for each in everyone)).to(local_gradients.dtype)
