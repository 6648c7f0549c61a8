"""no_sync, and one reduction of its own: gradient sums and the count in one vector."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    optimizer.zero_grad()
    with ddp_model.no_sync():
        logits = ddp_model(input_ids)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
        loss.backward()
    count = (labels[:, 1:] != -100).sum()
    parameters = list(ddp_model.parameters())
    packed = torch.cat([*(p.grad.flatten() for p in parameters), count.reshape(1).to(parameters[0])])
    dist.all_reduce(packed)
    if packed[-1] == 0:
        raise ValueError("no rank has a valid token")
    parts = (packed[:-1] / packed[-1]).split([p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)
    optimizer.step()
