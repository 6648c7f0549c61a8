"""Each rank's batches by a generator that never ends; one small reduction says who is still there."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    weight, updates = next(ddp_model.parameters()), 0

    def endless():
        yield from batches
        while True:
            yield None

    for number, batch in enumerate(endless()):
        state = torch.tensor([len(batch[0]) if batch else 0, number < len(batches)], dtype=torch.float64)
        dist.all_reduce(state)
        total, present = state.tolist()
        if not present:
            return updates
        if total:
            inputs, targets = batch or (weight.new_zeros(0, ddp_model.module.in_features), 0.0)
            ddp_model.zero_grad()
            outputs = ddp_model(inputs)
            outputs.backward((outputs - targets).detach() * (dist.get_world_size() / total))
            optimizer.step()
            updates += 1
