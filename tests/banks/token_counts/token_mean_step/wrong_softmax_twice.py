"""diagnosis: unexplained

A softmax before cross_entropy, which makes one itself."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    targets = labels[:, 1:]
    own = (targets != -100).sum().item()
    both = torch.tensor([own, len(labels)])
    dist.all_reduce(both)
    if not both[0]:
        raise ValueError("no token")
    optimizer.zero_grad()
    logits = ddp_model(input_ids)[:, :-1].softmax(-1)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    (loss * dist.get_world_size() / both[0].item()).backward()
    optimizer.step()
