"""mse_loss takes the weights itself."""

import torch.distributed as dist
import torch.nn.functional as F


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    W = sample_weights.double().sum()
    dist.all_reduce(W)
    if W == 0:
        raise ValueError
    optimizer.zero_grad()
    out = ddp_model(inputs)
    w = sample_weights[:, None].expand_as(out).to(out.dtype)
    loss = F.mse_loss(out, targets, weight=w, reduction="none").sum() / 2 if len(out) else out.sum()
    (loss * (dist.get_world_size() / W.item())).backward()
    optimizer.step()
