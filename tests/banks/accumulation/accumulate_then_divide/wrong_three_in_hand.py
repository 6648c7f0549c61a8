"""diagnosis: held-window

Looks two ahead, where one is enough to know the last."""

import collections

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    count, queue = torch.tensor(0), collections.deque()
    with ddp_model.no_sync():
        while True:
            while len(queue) < 3:
                queue.append(next(microbatches, None))
            if queue[0] is None:
                break
            inputs, targets = queue[0]
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
            count += len(inputs)
            queue.popleft()
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() / count.item()
    optimizer.step()
