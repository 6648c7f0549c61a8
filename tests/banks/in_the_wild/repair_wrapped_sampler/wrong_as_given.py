"""diagnosis: duplicated-items

The step as given in the notebook: the sampler makes ranks equally long by starting again in front."""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler


def repair_wrapped_sampler(
    ddp_model: DistributedDataParallel,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    optimizer: torch.optim.Optimizer,
) -> None:
    own = list(DistributedSampler(range(len(inputs)), shuffle=False))
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(dim=1)
    optimizer.zero_grad()  # old gradients
    losses.mean().backward()
    optimizer.step()  # one update
