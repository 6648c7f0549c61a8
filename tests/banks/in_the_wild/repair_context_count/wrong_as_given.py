"""diagnosis: wrong-group

The step as given in the notebook: only the tokens of this context column are counted."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def repair_context_count(
    ddp_model: DistributedDataParallel,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    valid: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    data_group: dist.ProcessGroup,
) -> None:
    count = valid.sum()
    dist.all_reduce(count, group=data_group)
    loss = 0.5 * ((ddp_model(inputs) - targets).square().sum(dim=-1) * valid).sum()
    optimizer.zero_grad()  # old gradients
    (loss * dist.get_world_size() / count.clamp(min=1).item()).backward()
    optimizer.step()  # one update
