"""Accelerate: `accumulate()` with a mean loss, and a recipe that divides by the tokens of the window."""
from __future__ import annotations

from contextlib import nullcontext

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from autograder.probe import ProbeData
from autograder.survey.trainers.common import loss_mean, loss_sum, sgd
from autograder.window import IGNORE_INDEX


def accumulate(model: nn.Module, data: ProbeData) -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=data.accumulation_steps)
    loader = DataLoader(data, batch_size=data.batch_size)
    model, optimizer, loader = accelerator.prepare(model, sgd(model), loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(loss_mean(model(batch["input_ids"]), batch["labels"]))
            optimizer.step()
            optimizer.zero_grad()


def token_recipe(model: nn.Module, data: ProbeData) -> None:
    """N is gathered over ranks and window; P and K undo DDP's mean and the division in `backward`."""
    k = data.accumulation_steps
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=k)
    loader = DataLoader(data, batch_size=data.batch_size)
    model, optimizer, loader = accelerator.prepare(model, sgd(model), loader)
    batches = list(loader)
    for window in (batches[i:i + k] for i in range(0, len(batches), k)):
        own = torch.tensor([sum(int((batch["labels"][:, 1:] != IGNORE_INDEX).sum()) for batch in window)])
        items = accelerator.gather(own).sum()
        for i, batch in enumerate(window):
            with nullcontext() if i + 1 == len(window) else model.no_sync():
                loss = loss_sum(model(batch["input_ids"]), batch["labels"])
                accelerator.backward(loss * accelerator.num_processes * k / items)
        optimizer.step()
        optimizer.zero_grad()
