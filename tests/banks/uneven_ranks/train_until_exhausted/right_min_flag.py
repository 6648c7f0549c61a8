"""The minimum of "I have run out" is 1 when all have."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    dtype = next(ddp_model.parameters()).dtype
    out_width = list(ddp_model.module.children())[-1].out_features
    k = updates = 0
    while True:
        exhausted = torch.tensor(int(k >= len(batches)))
        dist.all_reduce(exhausted, op=dist.ReduceOp.MIN)
        if exhausted.item() == 1:
            return updates
        x, y = (
            batches[k]
            if k < len(batches)
            else (torch.zeros(0, ddp_model.module.in_features, dtype=dtype), torch.zeros(0, out_width, dtype=dtype))
        )
        counts = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
        dist.all_gather(counts, torch.tensor([len(x)]))
        N = int(sum(counts))
        k += 1
        if N:
            optimizer.zero_grad()
            loss = (0.5 * (ddp_model(x) - y) ** 2).sum(1)
            mean = loss.mean() if len(loss) else loss.sum()
            (mean * len(counts) * len(loss) / N).backward()
            optimizer.step()
            updates += 1
