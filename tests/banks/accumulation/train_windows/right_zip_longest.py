"""Windows of zip_longest over all ranks' counts; the closing backward of a window synchronizes."""

import itertools

import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, [len(x) for x, _ in microbatches])
    totals = [sum(column) for column in itertools.zip_longest(*counts, fillvalue=0)]
    none = next(ddp_model.parameters()).new_empty(0, ddp_model.module.in_features), 0
    updates = 0
    for start in range(0, len(totals), accumulation_steps):
        total = sum(totals[start:start + accumulation_steps])
        if not total:
            continue
        updates += 1
        optimizer.zero_grad()
        with ddp_model.no_sync():
            for inputs, targets in microbatches[start:start + accumulation_steps]:
                (0.5 * (ddp_model(inputs) - targets) ** 2).sum().mul(len(counts) / total).backward()
        ddp_model(none[0]).sum().backward()
        optimizer.step()
    return updates
