"""Which backend a launch runs on, and a rank on its GPU: placement is the engine's, not the learner's.

On gloo a rank is on the CPU and nothing here happens. On NCCL rank r is on GPU r: what its function makes without
naming a device lies there, random numbers are the ones that the CPU draws, so that a seed means the same model on
every backend, and its calls and backwards wait on the CPU as gloo's do, so that a rank that waits in vain is found in
the line that waits.
"""
from __future__ import annotations

import functools
import os
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.utils._device import DeviceContext
from torch.utils._pytree import tree_map_only

BACKENDS = ("auto", "gloo", "nccl")
# Small CPU tensors, such as a count that a function puts there, travel over gloo.
ON_GPUS = "cpu:gloo,cuda:nccl"
_DRAWS = {torch.rand, torch.randn, torch.randint, torch.randperm, torch.normal, torch.rand_like, torch.randn_like,
          torch.randint_like, torch.bernoulli, torch.multinomial}
_FILLS = {getattr(torch.Tensor, name) for name in (
    "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "log_normal_", "geometric_", "cauchy_")}


def chosen_backend(backend: str, world_size: int) -> str:
    """"gloo" or "nccl" for "auto", "gloo" or "nccl"; ValueError with what to do when it cannot be had.

    "auto" is NCCL where each rank can have a GPU of its own, else gloo; AUTOGRADER_BACKEND overrides it.
    """
    if backend == "auto":
        backend = os.environ.get("AUTOGRADER_BACKEND", "auto")
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r}: choose 'auto', 'gloo' or 'nccl'")
    if backend == "gloo":
        return "gloo"
    gpus = gpu_count()
    if backend == "nccl" and gpus < world_size:
        raise ValueError(f"backend 'nccl' needs one GPU per rank: {world_size} ranks, {gpus} GPU(s) here. "
                         "Use backend='gloo', or fewer ranks.")
    return "nccl" if gpus >= world_size else "gloo"


def gpu_count() -> int:
    """The GPUs that ranks can have; counted through NVML where there is one, which starts no CUDA here."""
    return torch.cuda.device_count() if dist.is_nccl_available() else 0


class OnDevice(DeviceContext):
    """The default device of a rank, with the random numbers of the CPU."""

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> object:
        kwargs = dict(kwargs or {})
        generator = kwargs.get("generator")
        if kwargs.get("out") is None and (generator is None or generator.device.type == "cpu"):
            if func in _DRAWS:
                return self._drawn(func, args, kwargs)
            if func in _FILLS or getattr(func, "__module__", None) == "torch.nn.init":
                return _filled(func, args, kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def _drawn(self, func: Callable, args: tuple, kwargs: dict) -> torch.Tensor:
        given = next((a for a in args if isinstance(a, torch.Tensor)), None)
        wanted = kwargs.pop("device", None) or (self.device if given is None else given.device)
        leaf = kwargs.pop("requires_grad", False)
        args, kwargs = tree_map_only(torch.Tensor, lambda tensor: tensor.detach().cpu(), (args, kwargs))
        return func(*args, **kwargs, device="cpu").to(wanted).requires_grad_(leaf) if given is None else \
            func(*args, **kwargs).to(wanted).requires_grad_(leaf)


def _filled(func: Callable, args: tuple, kwargs: dict) -> torch.Tensor:
    """A function that fills its first tensor with random numbers, run on the CPU for one that is elsewhere."""
    target = args[0] if args else kwargs["tensor"]
    if target.device.type == "cpu":
        return func(*args, **kwargs)
    drawn = torch.empty(target.shape, dtype=target.dtype, device="cpu")
    kwargs = {name: drawn if value is target else value for name, value in kwargs.items()}
    func(*(drawn if value is target else value for value in args), **kwargs)
    with torch.no_grad():
        target.copy_(drawn)
    return target


def settle_on_gpu(rank: int) -> torch.device:
    """Make GPU `rank` this process's own, for good."""
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    OnDevice(device).__enter__()
    wait_on_the_cpu()
    return device


def meet_on_gpus(device: torch.device) -> None:
    """Once what every trial needs: libraries that load at first use, and a word from every other rank.

    So no trial's deadline pays for it, and what is wrong with this machine's GPUs shows before a function runs.
    """
    ones = torch.ones(2, 2, dtype=torch.float64, device=device, requires_grad=True)
    (ones @ ones).sum().backward()
    dist.all_reduce(ones.grad)
    torch.cuda.synchronize(device)


def wait_on_the_cpu() -> None:
    """Have this process wait where it calls, as on gloo: NCCL's calls only queue work on the GPU.

    A call with async_op=False gives nothing to wait for there; one with async_op=True gives a work. DDP's reductions
    are waited for at the end of a backward.
    """
    for name in dir(dist.ProcessGroup):
        method = getattr(dist.ProcessGroup, name)
        if "-> c10d::Work" in (method.__doc__ or ""):
            setattr(dist.ProcessGroup, name, _waiting(method, lambda work: work is None))
    dist.Work.wait = _waiting(dist.Work.wait, lambda _: True)
    torch.autograd.backward = _waiting(torch.autograd.backward, lambda _: True)


def _waiting(method: Callable, at_once: Callable[[object], bool]) -> Callable:
    @functools.wraps(method)
    def waits(*args: object, **kwargs: object) -> object:
        result = method(*args, **kwargs)
        if at_once(result):
            torch.cuda.current_stream().synchronize()
        return result
    return waits
