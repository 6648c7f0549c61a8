"""diagnosis: not-synchronized

Divides and does not reduce."""

import torch


def item_sum_hook(state, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer() / state["item_count"])
    return future
