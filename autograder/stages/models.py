"""The models that trials train, built from a description and parameters: the same on every rank and in the judge."""
from __future__ import annotations

import torch
from torch import Tensor, nn


class Layers(nn.Sequential):
    """Linear layers of the given sizes with tanh between them. inputs [n, sizes[0]] → [n, sizes[-1]]."""

    def __init__(self, sizes: list[int]) -> None:
        layers: list[nn.Module] = []
        for wide, narrow in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Linear(wide, narrow), nn.Tanh()]
        super().__init__(*layers[:-1])
        self.in_features = sizes[0]


class Tokens(nn.Module):
    """A small causal language model. token ids [B, T] (B ≥ 0, T ≥ 1) → logits [B, T, vocabulary]."""

    def __init__(self, vocabulary: int, width: int, longest: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(longest, width)
        self.mix = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        here = self.embedding(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        before = nn.functional.pad(here, (0, 0, 1, 0))[:, :-1]
        return self.head(torch.tanh(self.mix(torch.cat([here, before], -1))))


class Balanced(nn.Module):
    """A layer with an auxiliary term. inputs [n, d_in] → (outputs [n, d_out], balance [])."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.in_features = sizes[0]
        self.gate = nn.Linear(sizes[0], 2)
        self.out = nn.Linear(sizes[0], sizes[-1])

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        shares = torch.softmax(self.gate(inputs), -1)
        return self.out(inputs) * shares[:, :1], (shares.mean(0) ** 2).sum()


KINDS = {"layers": Layers, "tokens": Tokens, "balanced": Balanced}


def build_model(description: dict) -> nn.Module:
    """{"kind", "options", "parameters"} → the module with these parameters (their dtype becomes the module's)."""
    module = KINDS[description["kind"]](**description["options"])
    parameters = description["parameters"]
    module.to(parameters[0].dtype)
    with torch.no_grad():
        for own, given in zip(module.parameters(), parameters, strict=True):
            own.copy_(given)
    return module


def describe_model(kind: str, options: dict, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> dict:
    """A description with parameters drawn from `generator` (normal, spread 1/√fan-in; 0.3 for vectors)."""
    shapes = [tuple(p.shape) for p in KINDS[kind](**options).parameters()]
    parameters = [(torch.randn(shape, generator=generator, dtype=torch.float64)
                   * (shape[-1] ** -0.5 if len(shape) > 1 else 0.3)).to(dtype) for shape in shapes]
    return {"kind": kind, "options": options, "parameters": parameters}
