"""diagnosis: nan-or-inf

A masked mean that divides by the local mask's sum, weighed with its share: 0/0 on a rank without a token."""

import torch.distributed as dist


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    targets = labels[:, 1:]
    mask = (targets != -100).double()
    log_p = ddp_model(input_ids)[:, :-1].log_softmax(-1)
    losses = -log_p.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    mean = (losses * mask).sum() / mask.sum()
    optimizer.zero_grad()
    (mean * mask.sum() * dist.get_world_size() / total).backward()
    optimizer.step()
