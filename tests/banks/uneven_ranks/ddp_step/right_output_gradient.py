"""No loss at all: (ŷ − y)·P/N is handed to backward as the outputs' gradient."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    outputs = ddp_model(inputs)
    outputs.backward(gradient=(outputs - targets).detach() * (dist.get_world_size() / total.item()))
    optimizer.step()
