"""diagnosis: clamped-count | pure-scale

Every rank counts at least one item: N is too large where a rank is empty."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(max(1, len(inputs)))
    dist.all_reduce(total)
    optimizer.zero_grad()
    loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total
    loss.backward()
    optimizer.step()
