"""One asynchronous all_reduce per parameter, joined by collect_all."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    works = [dist.all_reduce(gradient, async_op=True) for gradient in bucket.gradients()]
    together = torch.futures.collect_all([work.get_future() for work in works])
    return together.then(lambda _: bucket.buffer().div_(state["item_count"]))
