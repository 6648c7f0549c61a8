"""Lightning: automatic optimization with accumulation, and manual optimization that normalises by itself."""
from __future__ import annotations

import torch
import torch.distributed as dist
from lightning.pytorch import LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader

from autograder.probe import ProbeData
from autograder.survey.trainers.common import loss_mean, loss_sum, sgd, token_count


class _Automatic(LightningModule):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def training_step(self, batch, batch_idx):
        return loss_mean(self.model(batch["input_ids"]), batch["labels"])

    def configure_optimizers(self):
        return sgd(self.model)


class _Manual(_Automatic):
    """Collects a window, then makes one update on the mean over all its tokens."""

    def __init__(self, model: nn.Module, accumulation_steps: int) -> None:
        super().__init__(model)
        self.automatic_optimization = False
        self.accumulation_steps = accumulation_steps
        self.window: list = []

    def training_step(self, batch, batch_idx):
        self.window.append(batch)
        if len(self.window) < self.accumulation_steps and not self.trainer.is_last_batch:
            return
        optimizer = self.optimizers()
        scale = dist.get_world_size() / token_count(self.window)
        for batch in self.window:
            self.manual_backward((loss_sum(self.model(batch["input_ids"]), batch["labels"]) * scale).sum())
        optimizer.step()
        optimizer.zero_grad()
        self.window = []


def accumulate(model: nn.Module, data: ProbeData) -> None:
    _fit(_Automatic(model), data, accumulate_grad_batches=data.accumulation_steps)


def token_mean(model: nn.Module, data: ProbeData) -> None:
    _fit(_Manual(model, data.accumulation_steps), data)


def _fit(module: LightningModule, data: ProbeData, **options) -> None:
    trainer = Trainer(accelerator="cpu", devices=dist.get_world_size(), strategy="ddp", max_epochs=1, logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, **options)
    trainer.fit(module, DataLoader(data, batch_size=data.batch_size))
    torch.distributed.barrier()
