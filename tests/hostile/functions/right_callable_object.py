"""outcome: right

An object with __call__ and a state of its own, under the name of the function.
"""
import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)


class Mean:
    def __init__(self):
        self.calls = 0

    def __call__(self, local_gradients):
        self.calls += 1
        return item_mean(local_gradients)


synchronized_item_mean = Mean()
