"""no_sync and an own sum of gradients, with the count as one more element. Exhausted ranks send zeros."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    parameters = list(ddp_model.parameters())
    updates = 0
    for number in range(rounds.item()):
        flat = torch.zeros(sum(p.numel() for p in parameters) + 1, dtype=parameters[0].dtype)
        if number < len(batches):
            inputs, targets = batches[number]
            with ddp_model.no_sync():
                loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
                gradients = torch.autograd.grad(loss, parameters)
            flat = torch.cat([g.flatten() for g in gradients] + [torch.tensor([len(inputs)]).to(flat)])
        dist.all_reduce(flat)
        if flat[-1] == 0:
            continue
        start = 0
        for p in parameters:
            p.grad = (flat[start:start + p.numel()] / flat[-1]).view_as(p).clone()
            start += p.numel()
        optimizer.step()
        updates += 1
    return updates
