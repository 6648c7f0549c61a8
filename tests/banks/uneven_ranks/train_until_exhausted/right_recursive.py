"""One round per call; who has none left brings a row that weighs 0."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer, k=0):
    x, y = batches[k] if k < len(batches) else (None, None)
    box = torch.tensor([0 if x is None else len(x), int(k < len(batches))])
    dist.all_reduce(box)
    if not box[1]:
        return 0
    if box[0]:
        optimizer.zero_grad()
        if x is None:
            w = next(ddp_model.parameters())
            loss = 0 * ddp_model(w.new_ones(1, ddp_model.module.in_features)).sum()
        else:
            loss = 0.5 * (ddp_model(x) - y).pow(2).sum()
        (loss * (dist.get_world_size() / box[0].item())).backward()
        optimizer.step()
    return int(box[0] > 0) + train_until_exhausted(ddp_model, batches, optimizer, k + 1)
