"""Passes whole buckets around a ring by sends."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    P, me = dist.get_world_size(), dist.get_rank()
    total, passing = bucket.buffer().clone(), bucket.buffer().clone()
    for _ in range(P - 1):
        w = dist.isend(passing, (me + 1) % P)
        box = torch.empty_like(passing)
        dist.recv(box, (me - 1) % P)
        w.wait()
        total += box
        passing = box
    f = torch.futures.Future()
    f.set_result(total / state["item_count"])
    return f
