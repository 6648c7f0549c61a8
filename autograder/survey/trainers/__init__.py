"""Which trainers are measured, in which settings: one record each. A new one is a record and a function.

Training functions are called as `train(model, data)` on every rank of a gloo process group. They are written as
the documentation of each library teaches it. Models come from configurations, nothing is downloaded.
"""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Trainer:
    """One row. train and model: "module:function" in this package; model None: the probe model. packages: what
    must be installed beside torch, the first one's version is shown. data: arguments of `ProbeData`."""

    name: str
    setting: str
    train: str
    packages: tuple[str, ...] = ()
    model: str | None = None
    data: dict = field(default_factory=dict)


# K = 3 and five microbatches on each of P = 2 ranks: a full window and a partial one. P ≠ K, or their roles could
# not be told apart.
_FULL_AND_PARTIAL = {"accumulation_steps": 3}

TRAINERS: tuple[Trainer, ...] = (
    Trainer("DDP", "mean loss", "ddp:mean_loss"),
    Trainer("DDP", "loss sum · P / N", "ddp:token_mean"),
    Trainer("DDP", "no_sync, mean loss / K", "ddp:accumulated_means", data=_FULL_AND_PARTIAL),
    Trainer("DDP", "no_sync, loss sum · P / N of the window", "ddp:accumulated_sums", data=_FULL_AND_PARTIAL),
    Trainer("DDP with Join", "mean loss, divides by the initial P", "ddp:join_initial", data={"sequences": 6}),
    Trainer("DDP with Join", "mean loss, divides by the ranks that are left", "ddp:join_left",
            data={"sequences": 6}),
    Trainer("DDP, DistributedSampler", "7 sequences on 2 ranks, loss sum · P / N", "ddp:padded_sampler",
            data={"sequences": 7}),
    Trainer("DDP, DistributedSampler", "7 sequences, drop_last=True, loss sum · P / N", "ddp:dropping_sampler",
            data={"sequences": 7}),
    Trainer("FSDP2 (fully_shard)", "mean loss", "fsdp:mean_loss"),
    Trainer("FSDP2 (fully_shard)", "set_requires_gradient_sync, mean loss / K", "fsdp:accumulated_means",
            data=_FULL_AND_PARTIAL),
    Trainer("FSDP2 (fully_shard)", "mean loss, set_gradient_divide_factor(1)", "fsdp:summed_means"),
    Trainer("FSDP2 (fully_shard)", "loss sum / N, set_gradient_divide_factor(1)", "fsdp:token_mean"),
    *(Trainer("Transformers Trainer", setting, f"hugging_face:{train}", ("transformers", "accelerate"),
              f"hugging_face:{model}", _FULL_AND_PARTIAL)
      for setting, train, model in (
          ("average_tokens_across_devices=True (default)", "averaging_tokens", "llama"),
          ("average_tokens_across_devices=False", "not_averaging_tokens", "llama"),
          ("max_grad_norm=1.0 (default)", "clipping", "llama"),
          ("a model whose forward takes no **kwargs", "averaging_tokens", "model_without_kwargs"),
          ("a custom model whose loss divides by num_items_in_batch", "averaging_tokens", "counting_model"),
          ("a subclass whose compute_loss takes the mean", "own_mean_loss", "llama"))),
    Trainer("Accelerate", "accumulate(), mean loss", "accelerated:accumulate", ("accelerate",), data=_FULL_AND_PARTIAL),
    Trainer("Accelerate", "token recipe: loss sum · P · K / N", "accelerated:token_recipe", ("accelerate",),
            data=_FULL_AND_PARTIAL),
    Trainer("Lightning", "ddp, accumulate_grad_batches=3, mean loss", "lit:accumulate", ("lightning",),
            data=_FULL_AND_PARTIAL),
    Trainer("Lightning", "ddp, manual optimization, loss sum · P / N", "lit:token_mean", ("lightning",),
            data=_FULL_AND_PARTIAL),
)
