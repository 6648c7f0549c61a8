"""cross_entropy whose mean is scaled by the count that it used."""

import torch
import torch.distributed as dist


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    shifted = torch.nn.functional.pad(labels, (0, 1), value=-100)[:, 1:]
    local = (shifted != -100).sum().double()
    total = local.clone()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no token")
    criterion = torch.nn.CrossEntropyLoss(ignore_index=-100, reduction="mean" if local else "sum")
    optimizer.zero_grad()
    loss = criterion(ddp_model(input_ids).flatten(0, 1), shifted.flatten())
    (loss * (local if local else 1) / total * dist.get_world_size()).backward()
    optimizer.step()
