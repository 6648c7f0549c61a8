"""The same work three ways: our launch, torch.multiprocessing.spawn, and a bare fork; and the memory it takes."""
from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import import_module

import torch
import torch.distributed as dist
import torch.multiprocessing

from autograder.ranks.server import PRELOAD

ELEMENTS = 1000


def meet(rank: int, world_size: int, store: str) -> float:
    """Join a gloo group, make one all_reduce; the value that every rank must see."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", store=dist.FileStore(store, world_size), rank=rank, world_size=world_size)
    return reduce_once()


def reduce_once() -> float:
    """One all_reduce in the group at hand."""
    total = torch.full((ELEMENTS,), float(dist.get_rank() + 1))
    dist.all_reduce(total)
    return float(total[-1])


def reduce_and_weigh() -> float:
    """The same, and this process's proportional set size in MiB while all ranks are alive."""
    reduce_once()
    dist.barrier()
    size = proportional_set_size()
    dist.barrier()
    return size


def proportional_set_size() -> float:
    """PSS of this process in MiB: shared pages are divided among those who share them."""
    with open("/proc/self/smaps_rollup") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024


def _spawned(rank: int, world_size: int, store: str, results: object, weigh: bool) -> None:
    value = meet(rank, world_size, store)
    results.put(reduce_and_weigh() if weigh else value)


def with_spawn(world_size: int, weigh: bool = False) -> list[float]:
    """What people write: torch.multiprocessing.spawn, a queue for the results."""
    with tempfile.TemporaryDirectory() as folder:
        results = torch.multiprocessing.get_context("spawn").SimpleQueue()
        torch.multiprocessing.spawn(_spawned, (world_size, os.path.join(folder, "store"), results, weigh),
                                    nprocs=world_size)
        return [results.get() for _ in range(world_size)]


def with_bare_fork(world_size: int) -> list[float]:
    """The least that it can take: fork a process that has loaded what the fork server has, read one number per rank."""
    for name in PRELOAD:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        children = []
        for rank in range(world_size):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.write(writer, str(meet(rank, world_size, store)).encode())
                dist.barrier()
                os._exit(0)
            os.close(writer)
            children.append((pid, reader))
        values = [float(os.read(reader, 100)) for _, reader in children]
        for pid, reader in children:
            os.waitpid(pid, 0)
            os.close(reader)
        return values


def with_engine(world_size: int, weigh: bool = False) -> list[float]:
    """`run_on_ranks`, its fork server warm."""
    from autograder import run_on_ranks

    return list(run_on_ranks(reduce_and_weigh if weigh else reduce_once, world_size=world_size, backend="gloo",
                             timeout=60))


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median duration of `repeats` runs, in seconds."""
    durations = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        durations.append(time.perf_counter() - began)
    return statistics.median(durations)
