"""torch.func.grad of the local sum, one flat reduction with the count."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.func import functional_call, grad


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    module, targets = ddp_model.module, labels[:, 1:]

    def loss(values):
        logits = functional_call(module, values, (input_ids,))[:, :-1]
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")

    gradients = grad(loss)({name: p.detach() for name, p in module.named_parameters()})
    count = (targets != -100).sum()
    packed = torch.cat([*(g.flatten().double() for g in gradients.values()), count.double()[None]])
    dist.all_reduce(packed)
    if not packed[-1]:
        raise ValueError("no token")
    parts = (packed[:-1] / packed[-1]).split([g.numel() for g in gradients.values()])
    for p, part in zip(module.parameters(), parts, strict=True):
        p.grad = part.view_as(p).to(p.dtype)
    optimizer.step()
