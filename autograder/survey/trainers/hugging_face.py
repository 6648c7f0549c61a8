"""Transformers' Trainer with a causal language model made from a configuration: nothing is downloaded."""
from __future__ import annotations

import tempfile

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from autograder.probe import ProbeData
from autograder.survey.trainers.common import loss_mean, loss_sum


def llama() -> nn.Module:
    return LlamaForCausalLM(_config()).double()


class _WithoutKwargs(LlamaForCausalLM):
    """As in many a custom model: forward takes what it names and nothing else, so it gets no token count."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None):
        out = super().forward(input_ids=input_ids)
        return out if labels is None else {"loss": loss_mean(out.logits, labels), "logits": out.logits}


def model_without_kwargs() -> nn.Module:
    return _WithoutKwargs(_config()).double()


class _CountingModel(LlamaForCausalLM):
    """A custom model that takes the token count, shifts by itself and divides by it. The Trainer counts labels
    after the shift only for models that it knows to shift."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None, num_items_in_batch=None, **kwargs):
        out = super().forward(input_ids=input_ids)
        return out if labels is None else {"loss": loss_sum(out.logits, labels) / num_items_in_batch,
                                           "logits": out.logits}


def counting_model() -> nn.Module:
    return _CountingModel(_config()).double()


class _OwnMeanLoss(Trainer):
    """A common way to change the loss: compute_loss takes a mean of its own and ignores num_items_in_batch."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(input_ids=inputs["input_ids"])
        loss = loss_mean(out.logits, inputs["labels"])
        return (loss, out) if return_outputs else loss


def averaging_tokens(model: nn.Module, data: ProbeData) -> None:
    _train(Trainer, model, data)


def not_averaging_tokens(model: nn.Module, data: ProbeData) -> None:
    _train(Trainer, model, data, average_tokens_across_devices=False)


def clipping(model: nn.Module, data: ProbeData) -> None:
    _train(Trainer, model, data, max_grad_norm=1.0)


def own_mean_loss(model: nn.Module, data: ProbeData) -> None:
    _train(_OwnMeanLoss, model, data)


def _config() -> LlamaConfig:
    """Small, and with weights large enough for a gradient that the default max_grad_norm clips."""
    return LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                       num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
                       initializer_range=0.3)


def _train(trainer: type[Trainer], model: nn.Module, data: ProbeData, **options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(**{
            "output_dir": folder, "use_cpu": True, "ddp_backend": "gloo", "report_to": [], "disable_tqdm": True,
            "save_strategy": "no", "logging_strategy": "no", "num_train_epochs": 1,
            "per_device_train_batch_size": data.batch_size,
            "gradient_accumulation_steps": data.accumulation_steps,
            "optim": "sgd", "learning_rate": 1.0, "lr_scheduler_type": "constant", "max_grad_norm": 0.0, **options})
        trainer(model, arguments, train_dataset=data).train()
