"""A coroutine per exchange: isend, and recv in a thread."""

import asyncio

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    P, me = dist.get_world_size(), dist.get_rank()
    c = [x.clone() for x in tensor.detach().tensor_split(P)]

    async def go(give, box):
        w = dist.isend(give, (me + 1) % P)
        await asyncio.get_running_loop().run_in_executor(None, dist.recv, box, (me - 1) % P)
        await asyncio.to_thread(w.wait)

    async def main():
        for k in range(P - 1):
            box = torch.empty_like(c[me - k - 1])
            await go(c[me - k], box)
            c[me - k - 1] += box
        for k in range(P - 1):
            await go(c[(me - k + 1) % P], c[me - k])

    asyncio.run(main())
    return torch.cat(c)
