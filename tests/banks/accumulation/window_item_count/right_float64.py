"""float64 holds integers exactly up to 2**53, and an int comes out of it again."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(float(sum(microbatch_counts)), dtype=torch.float64)
    work = dist.all_reduce(count, op=dist.ReduceOp.SUM, async_op=True)
    work.wait()
    return int(count)
