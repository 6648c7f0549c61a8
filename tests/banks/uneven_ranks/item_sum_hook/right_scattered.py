"""reduce_scatter and all_gather of a padded float64 copy."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    size, buffer = dist.get_world_size(), bucket.buffer()
    padded = torch.nn.functional.pad(buffer.double(), (0, -len(buffer) % size))
    part = padded.new_empty(len(padded) // size)
    dist.reduce_scatter_tensor(part, padded)
    work = dist.all_gather_into_tensor(padded, part.div_(state["item_count"]), async_op=True)
    return work.get_future().then(lambda _: padded[:len(buffer)].to(buffer.dtype))
