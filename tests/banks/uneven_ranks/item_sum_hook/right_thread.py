"""A thread reduces bucket after bucket, and sets the futures."""

import concurrent.futures

import torch
import torch.distributed as dist

pool = {}


def item_sum_hook(state, bucket):
    if "p" not in pool:
        pool["p"] = concurrent.futures.ThreadPoolExecutor(1)
    fut, b, n = torch.futures.Future(), bucket.buffer(), state["item_count"]

    def go():
        dist.all_reduce(b)
        fut.set_result(b / n)

    pool["p"].submit(go)
    return fut
