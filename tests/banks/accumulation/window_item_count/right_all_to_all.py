"""Each rank tells each other one."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    own = torch.full((dist.get_world_size(),), sum(microbatch_counts), dtype=torch.int64)
    others = torch.empty_like(own)
    dist.all_to_all_single(others, own)
    return int(others.sum())
