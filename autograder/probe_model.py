"""A small language model whose item gradients are well conditioned: the course's probe.

Two embedded tokens and a position go through tanh to a softmax over the vocabulary. Softmax cross-entropy
gives every item a gradient of similar size, and context and position make the gradients independent.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .window import IGNORE_INDEX


class ProbeModel(nn.Module):
    """ids [B, T] → logits [B, T, vocabulary]; position t sees tokens t−1 and t. T at most `max_length`."""

    def __init__(self, vocabulary: int = 64, width: int = 16, hidden: int = 32, max_length: int = 64) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.previous = nn.Embedding(vocabulary + 1, width)  # the last row stands before the first token
        self.position = nn.Embedding(max_length, width)
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(hidden, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        before = F.pad(ids[:, :-1], (1, 0), value=self.token.num_embeddings)
        places = torch.arange(ids.shape[1], device=ids.device)
        features = self.token(ids) + self.previous(before) + self.position(places)
        return self.outer(torch.tanh(self.inner(features)))


def token_losses(model: nn.Module, ids: Tensor, labels: Tensor, ignore_index: int = IGNORE_INDEX) -> Tensor:
    """The cross entropies [N] of the targets that count: position t predicts labels[:, t+1].

    ids and labels [B, T], the order is row by row; what fits `per_item_gradients` and `reference_update`.
    """
    targets = labels[:, 1:].flatten()
    losses = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), targets, ignore_index=ignore_index,
                             reduction="none")
    return losses[targets != ignore_index]
