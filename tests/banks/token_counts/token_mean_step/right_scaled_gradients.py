"""Backward of the plain sum; the reduced gradients are scaled once the count is there."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum().double()
    counting = dist.all_reduce(total, async_op=True)
    optimizer.zero_grad()
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    counting.wait()
    if not total:
        raise ValueError("no rank has a valid token")
    loss.backward()
    for parameter in ddp_model.parameters():
        parameter.grad.mul_(dist.get_world_size() / total.item())
    optimizer.step()
