"""What several training functions share: sums and counts of a language model's loss."""
from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.window import IGNORE_INDEX


def loss_sum(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ of the cross entropies of the tokens that count; logits [B, T, V] at t predict labels[:, t+1]."""
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE_INDEX,
                           reduction="sum")


def loss_mean(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean that almost every script takes: over the tokens of this microbatch."""
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE_INDEX)


def token_count(batches: Sequence[dict[str, Tensor]]) -> Tensor:
    """N, the tokens that count in these microbatches on all ranks."""
    count = torch.tensor([sum(int((batch["labels"][:, 1:] != IGNORE_INDEX).sum()) for batch in batches)])
    dist.all_reduce(count)
    return count


def sgd(model: nn.Module) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=1.0)
