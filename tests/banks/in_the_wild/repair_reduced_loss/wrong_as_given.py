"""diagnosis: global-divisor-then-mean

The step as given in the notebook: the value is reduced, the gradient is not, and DDP divides by P on top."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def repair_reduced_loss(
    ddp_model: DistributedDataParallel,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    optimizer: torch.optim.Optimizer,
) -> float:
    loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
    count = torch.tensor(len(inputs))
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no rank has an item")
    dist.all_reduce(loss.data)  # now it is the loss of all ranks
    loss = loss / count.item()
    optimizer.zero_grad()  # old gradients
    loss.backward()
    optimizer.step()  # one update
    return loss.item()
