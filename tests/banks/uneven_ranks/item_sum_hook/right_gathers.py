"""Gathers all ranks' buckets and adds them up: dear, and right."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    mine = bucket.buffer()
    everyones = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyones, mine)
    future = torch.futures.Future()
    future.set_result(torch.stack(everyones).sum(0) / state["item_count"])
    return future
