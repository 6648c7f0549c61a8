"""diagnosis: parameter-groups-differ

The step as given in the notebook: the expert's sum is divided by the ranks that hold a copy of it."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def repair_expert_gradients(
    shared: DistributedDataParallel,
    expert: torch.nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    expert_group: dist.ProcessGroup,
) -> None:
    count = torch.tensor(len(inputs))
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no rank has an item")
    loss = 0.5 * (expert(shared(inputs)) - targets).square().sum()
    optimizer.zero_grad()  # old gradients
    (loss / count.item() * dist.get_world_size()).backward()
    copies = dist.get_world_size(expert_group)
    for gradient in [parameter.grad for parameter in expert.parameters()]:
        dist.all_reduce(gradient, group=expert_group)
        gradient.div_(copies)  # the mean over all copies, as DDP does it
    optimizer.step()  # one update
