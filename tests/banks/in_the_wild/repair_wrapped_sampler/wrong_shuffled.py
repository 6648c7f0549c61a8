"""diagnosis: duplicated-items

Shuffles with the sampler: other examples are there twice, in each epoch."""

from torch.utils.data import DistributedSampler


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    own = list(DistributedSampler(range(len(inputs)), shuffle=True, seed=3))
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
