"""DistributedDataParallel as scripts use it: alone, with `no_sync`, with `Join`, with `DistributedSampler`."""
from __future__ import annotations

from contextlib import nullcontext

import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from autograder.probe import ProbeData
from autograder.survey.trainers.common import loss_mean, loss_sum, sgd, token_count


def mean_loss(model: nn.Module, data: ProbeData) -> None:
    ddp, optimizer = DistributedDataParallel(model), sgd(model)
    for batch in data.batches:
        optimizer.zero_grad()
        loss_mean(ddp(batch["input_ids"]), batch["labels"]).backward()
        optimizer.step()


def token_mean(model: nn.Module, data: ProbeData) -> None:
    _token_mean(model, data.batches)


def accumulated_means(model: nn.Module, data: ProbeData) -> None:
    ddp, optimizer, k = DistributedDataParallel(model), sgd(model), data.accumulation_steps
    batches = data.batches
    for i, batch in enumerate(batches):
        last = (i + 1) % k == 0 or i + 1 == len(batches)
        with nullcontext() if last else ddp.no_sync():
            (loss_mean(ddp(batch["input_ids"]), batch["labels"]) / k).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()


def accumulated_sums(model: nn.Module, data: ProbeData) -> None:
    ddp, optimizer = DistributedDataParallel(model), sgd(model)
    for window in data.windows:
        scale = dist.get_world_size() / token_count(window)
        for i, batch in enumerate(window):
            with nullcontext() if i + 1 == len(window) else ddp.no_sync():
                (loss_sum(ddp(batch["input_ids"]), batch["labels"]) * scale).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def join_initial(model: nn.Module, data: ProbeData) -> None:
    _join(model, data, divide_by_initial_world_size=True)


def join_left(model: nn.Module, data: ProbeData) -> None:
    _join(model, data, divide_by_initial_world_size=False)


def _join(model: nn.Module, data: ProbeData, **options) -> None:
    """Three batches on two ranks: rank 1 leaves after its first."""
    ddp, optimizer = DistributedDataParallel(model), sgd(model)
    with Join([ddp], **options):
        for batch in data.batches:
            optimizer.zero_grad()
            loss_mean(ddp(batch["input_ids"]), batch["labels"]).backward()
            optimizer.step()


def padded_sampler(model: nn.Module, data: ProbeData) -> None:
    _sampled(model, data, DistributedSampler(data, shuffle=False))


def dropping_sampler(model: nn.Module, data: ProbeData) -> None:
    _sampled(model, data, DistributedSampler(data, shuffle=False, drop_last=True))


def _sampled(model: nn.Module, data: ProbeData, sampler: DistributedSampler) -> None:
    _token_mean(model, list(DataLoader(data, batch_size=len(data), sampler=sampler)))


def _token_mean(model: nn.Module, batches: list) -> None:
    ddp, optimizer = DistributedDataParallel(model), sgd(model)
    for batch in batches:
        optimizer.zero_grad()
        total = loss_sum(ddp(batch["input_ids"]), batch["labels"])
        (total * dist.get_world_size() / token_count([batch])).sum().backward()
        optimizer.step()
