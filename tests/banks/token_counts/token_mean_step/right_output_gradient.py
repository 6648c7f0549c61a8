"""softmax − onehot, divided by N/P, as the logits' gradient."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    targets = labels[:, 1:]
    valid = targets != -100
    total = valid.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError("no token")
    optimizer.zero_grad()
    logits = ddp_model(input_ids)
    with torch.no_grad():
        gradient = torch.zeros_like(logits)
        hot = F.one_hot(targets.where(valid, 0), logits.shape[-1])
        gradient[:, :-1] = (logits[:, :-1].softmax(-1) - hot) * valid[..., None] * dist.get_world_size() / total
    logits.backward(gradient)
    optimizer.step()
