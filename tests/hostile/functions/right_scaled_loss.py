"""outcome: right

Scales the loss instead of the gradients and lets autograd sum.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    count = torch.tensor(float(len(local_gradients)))
    dist.all_reduce(count)
    w = torch.zeros(local_gradients.shape[1], dtype=torch.float64, requires_grad=True)
    loss = (local_gradients.detach().double() @ w).sum() / count
    loss.backward()
    gradient = w.grad
    dist.all_reduce(gradient)
    return gradient.to(local_gradients.dtype)
