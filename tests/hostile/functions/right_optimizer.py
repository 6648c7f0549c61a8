"""outcome: right

Takes the mean by one step of SGD with its own seeds and threads, and takes a second for it.
"""
import time

import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)



def synchronized_item_mean(local_gradients):
    torch.manual_seed(7)
    torch.set_num_threads(1)
    w = torch.zeros(local_gradients.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    w.grad = -item_mean(local_gradients.double())
    optimizer.step()
    time.sleep(0.3)
    return w.detach().to(local_gradients.dtype)
