"""One example after the other, P/M on each; ranks without one take part once with no rows."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for i in own.tolist():
            loss = 0.5 * (ddp_model(inputs[i:i + 1]) - targets[i:i + 1]).square().sum()
            (loss * world / len(inputs)).backward()
    ddp_model(inputs[:0]).sum().backward()
    optimizer.step()
