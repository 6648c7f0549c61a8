"""Counts of all batches by one all_gather_object, zip_longest over them, output gradients."""

import itertools

import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, [len(inputs) for inputs, _ in batches])
    weight, updates = next(ddp_model.parameters()), 0
    rounds = itertools.zip_longest(*counts, fillvalue=0)
    for total, batch in zip(map(sum, rounds), itertools.chain(batches, itertools.repeat(None)), strict=False):
        if not total:
            continue
        inputs, targets = batch or (weight.new_empty(0, ddp_model.module.in_features), 0)
        optimizer.zero_grad()
        outputs = ddp_model(inputs)
        outputs.backward((outputs - targets).detach() * len(counts) / total)
        optimizer.step()
        updates += 1
    return updates
