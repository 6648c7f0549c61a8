"""Every round asks whether anybody has a batch left, and counts in the same message."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    left, updates = iter(batches), 0
    while True:
        batch = next(left, None)
        box = torch.tensor([int(batch is not None), 0 if batch is None else len(batch[0])])
        dist.all_reduce(box)
        present, items = box.tolist()
        if not present:
            return updates
        if not items:
            continue
        optimizer.zero_grad()
        if batch is None:
            weight = next(ddp_model.module.parameters())
            loss = ddp_model(torch.zeros(0, ddp_model.module.in_features, dtype=weight.dtype)).sum()
        else:
            loss = 0.5 * (ddp_model(batch[0]) - batch[1]).square().sum()
        (loss * (dist.get_world_size() / items)).backward()
        optimizer.step()
        updates += 1
