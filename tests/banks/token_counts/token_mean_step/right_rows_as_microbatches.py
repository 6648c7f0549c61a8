"""Each row is a microbatch under no_sync; a forward without rows reduces."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no token")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for row in range(len(labels)):
            logits = ddp_model(input_ids[row:row + 1])[0, :-1]
            loss = F.cross_entropy(logits, labels[row, 1:], reduction="sum")
            (loss * dist.get_world_size() / total).backward()
    ddp_model(input_ids[:0]).sum().backward()
    optimizer.step()
