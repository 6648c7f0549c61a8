"""diagnosis: wrong-number-of-steps | mismatched-collectives | deadlock

One step for every row: ranks with more rows reduce more often."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    for row, label in zip(input_ids, labels, strict=True):
        loss = F.cross_entropy(ddp_model(row[None])[0, :-1], label[1:], reduction="sum")
        optimizer.zero_grad()
        (loss * dist.get_world_size() / total).backward()
        optimizer.step()
