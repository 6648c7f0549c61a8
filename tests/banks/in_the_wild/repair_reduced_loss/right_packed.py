"""Sum and count cross the ranks in one tensor."""

import torch
import torch.distributed as dist


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(1)
    both = torch.stack([losses.detach().sum().double(), torch.tensor(float(len(losses)), dtype=torch.float64)])
    dist.all_reduce(both)
    loss_sum, count = both.tolist()
    if not count:
        raise ValueError("nothing to average")
    ddp_model.zero_grad()
    (losses.sum() * (dist.get_world_size() / count)).backward()
    optimizer.step()
    return loss_sum / count
