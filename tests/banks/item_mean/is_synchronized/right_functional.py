"""Functional all-gather along a new first dimension."""

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as funcol


def is_synchronized(tensor):
    rows = funcol.all_gather_tensor(tensor.reshape(1, -1), 0, dist.group.WORLD)
    rows = torch.as_tensor(rows.wait() if hasattr(rows, "wait") else rows)
    return bool(((rows == rows[:1]) | (rows.isnan() & rows[:1].isnan())).all())
