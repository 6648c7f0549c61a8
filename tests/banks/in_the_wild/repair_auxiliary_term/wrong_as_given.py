"""diagnosis: second-term-misweighted

The step as given in the notebook: one factor P for both terms, and microbatches of the second are added."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def repair_auxiliary_term(
    ddp_model: DistributedDataParallel,
    microbatches: list[tuple[torch.Tensor, torch.Tensor]],
    optimizer: torch.optim.Optimizer,
    aux_weight: float,
) -> None:
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    optimizer.zero_grad()  # old gradients
    for features, labels in microbatches:
        outputs, balance = ddp_model(features)
        loss = 0.5 * (outputs - labels).square().sum() / count.item() + aux_weight * balance
        loss = loss * dist.get_world_size()  # DDP averages
        loss.backward()
    optimizer.step()  # one update
