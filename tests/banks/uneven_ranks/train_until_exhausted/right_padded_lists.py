"""Lists are filled up with rows of zeros of weight 0, so that all ranks have as many batches; then an ordinary loop."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    lengths = [None] * dist.get_world_size()
    dist.all_gather_object(lengths, len(batches))
    weight = next(ddp_model.parameters())
    width, outputs = ddp_model.module.in_features, ddp_model.module[-1].out_features
    nothing = weight.new_zeros(0, width), weight.new_zeros(0, outputs)
    done = 0
    for inputs, targets in [*batches, *[nothing] * (max(lengths) - len(batches))]:
        count = torch.tensor([float(len(inputs))], dtype=torch.float64)
        dist.all_reduce(count, op=dist.ReduceOp.AVG)
        if count.item() > 0:
            ddp_model.zero_grad(set_to_none=True)
            padded = torch.cat([inputs, weight.new_zeros(1, width)])
            errors = (ddp_model(padded)[:-1] - targets) ** 2
            (errors.sum() / (2 * count.item())).backward()
            optimizer.step()
            done += 1
    return done
