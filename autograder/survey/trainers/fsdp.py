"""FSDP2 (`fully_shard`) on a CPU mesh with gloo. It averages over ranks, as DistributedDataParallel does."""
from __future__ import annotations

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from autograder.probe import ProbeData
from autograder.survey.trainers.common import loss_mean, loss_sum, sgd, token_count


def mean_loss(model: nn.Module, data: ProbeData) -> None:
    _sharded(model)
    _mean_losses(model, data)


def summed_means(model: nn.Module, data: ProbeData) -> None:
    _sharded(model)
    model.set_gradient_divide_factor(1.0)
    _mean_losses(model, data)


def token_mean(model: nn.Module, data: ProbeData) -> None:
    _sharded(model)
    model.set_gradient_divide_factor(1.0)
    optimizer = sgd(model)
    for batch in data.batches:
        optimizer.zero_grad()
        (loss_sum(model(batch["input_ids"]), batch["labels"]) / token_count([batch])).sum().backward()
        optimizer.step()


def accumulated_means(model: nn.Module, data: ProbeData) -> None:
    _sharded(model)
    optimizer, k, batches = sgd(model), data.accumulation_steps, data.batches
    for i, batch in enumerate(batches):
        last = (i + 1) % k == 0 or i + 1 == len(batches)
        model.set_requires_gradient_sync(last)
        (loss_mean(model(batch["input_ids"]), batch["labels"]) / k).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()


def _mean_losses(model: nn.Module, data: ProbeData) -> None:
    optimizer = sgd(model)
    for batch in data.batches:
        optimizer.zero_grad()
        loss_mean(model(batch["input_ids"]), batch["labels"]).backward()
        optimizer.step()


def _sharded(model: nn.Module) -> None:
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
