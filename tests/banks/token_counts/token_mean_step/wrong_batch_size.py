"""diagnosis: nominal-batch-size

The sum of the token losses is divided by the number of sequences."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    targets = labels[:, 1:]
    both = torch.stack([(targets != -100).sum(), torch.tensor(len(labels))])
    dist.all_reduce(both)
    if not both[0]:
        raise ValueError("no token")
    optimizer.zero_grad()
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    (loss * dist.get_world_size() / both[1]).backward()
    optimizer.step()
