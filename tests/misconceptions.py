"""Wrong distributed steps, one per dial setting, as people write them for a real DDP model.

Each is a loss that a rank backpropagates for a microbatch, given what it knows; DDP averages over ranks. `Facts` holds
what a trainer has at hand. `STEPS` maps a name to the step and the key that it must be given (`alone`: where each rank
has one microbatch, when microbatch and rank are the same).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograder.stages.models import build_model
from autograder.window import UpdateWindow


@dataclass(frozen=True)
class Facts:
    """What a rank knows about one microbatch: its losses, sample weights, and the window's counts."""

    losses: torch.Tensor
    weights: torch.Tensor
    slots: int
    n_rk: int
    n_r: int
    n: int
    w_rk: float
    w: float
    rank: int
    k: int
    microbatches: int
    steps: int
    active: int
    all_slots: int
    round_n: int

    @property
    def world_size(self) -> int:
        return dist.get_world_size()

    @property
    def sum(self) -> torch.Tensor:
        return self.losses.sum()

    @property
    def mean(self) -> torch.Tensor:
        """The local mean as people guard it: no items, no loss."""
        return self.losses.sum() / max(self.n_rk, 1)


Loss = Callable[[Facts], torch.Tensor]


@dataclass(frozen=True)
class Step:
    loss: Loss
    key: str | None
    alone: str | None = ""
    weighted: bool = False
    partial: bool = False
    empty_rank: bool = False

    def expected(self, microbatches: int) -> str | None:
        return self.alone if microbatches == 1 and self.alone != "" else self.key


def _per_rank(f: Facts) -> torch.Tensor:
    return f.sum / max(f.n_r, 1)


STEPS: dict[str, Step] = {
    "right: the window's count, DDP's average undone": Step(lambda f: f.world_size * f.sum / f.n, None),
    "the local mean under DDP": Step(_per_rank, "mean-of-rank-means"),
    "the local mean, DDP's average undone": Step(lambda f: f.world_size * _per_rank(f), "sum-of-rank-means"),
    "the window's count, averaged once more": Step(lambda f: f.sum / f.n, "global-divisor-then-mean"),
    "a sum that nobody divides": Step(lambda f: f.world_size * f.sum, "never-divided"),
    "a sum under DDP": Step(lambda f: f.sum, "divided-by-world-size"),
    "the mean of microbatch means": Step(lambda f: f.mean / f.microbatches, "mean-of-microbatch-means",
                                         "mean-of-rank-means"),
    "microbatch means, K forgotten": Step(lambda f: f.mean, "sum-of-microbatch-means", "mean-of-rank-means"),
    "microbatch means averaged, ranks added": Step(lambda f: f.world_size * f.mean / f.microbatches,
                                                   "mean-of-microbatch-means", "sum-of-rank-means"),
    "divided by the number of microbatches only": Step(lambda f: f.world_size * f.sum / f.microbatches,
                                                       "microbatch-count", "never-divided"),
    "each round's count over the ranks, then a mean": Step(lambda f: f.world_size * f.sum / max(f.round_n, 1)
                                                           / f.microbatches, "mean-of-microbatch-means", None),
    "the rank's share on a mean of microbatch means": Step(lambda f: f.world_size * f.n_r / f.n * f.mean
                                                           / f.microbatches, "mean-of-microbatch-means", None),
    "the window's count and K": Step(lambda f: f.world_size * f.sum / f.n / f.microbatches, "divided-twice", None),
    "padding in the window's count": Step(lambda f: f.world_size * f.sum / f.all_slots, "padding-counted"),
    "padding in the local count": Step(lambda f: f.sum / f.slots / f.microbatches, "padding-counted"),
    "divided by the active ranks": Step(lambda f: f.world_size * _per_rank(f) / f.active, "active-ranks",
                                        empty_rank=True),
    "rank 1 left out": Step(lambda f: f.world_size * f.sum * (f.rank != 1) / f.n, "rank-lost"),
    "sample weights ignored": Step(lambda f: f.world_size * f.sum / f.n, "weights-ignored", weighted=True),
    "weighted losses divided by items": Step(lambda f: f.world_size * (f.weights * f.losses).sum() / f.n,
                                             "divided-by-items", weighted=True),
    "right: sample weights over their sum": Step(lambda f: f.world_size * (f.weights * f.losses).sum() / f.w, None,
                                                 weighted=True),
    "twice the loss": Step(lambda f: 2 * f.world_size * f.sum / f.n, "pure-scale"),
    "the wrong sign": Step(lambda f: -f.world_size * f.sum / f.n, "pure-scale"),
    "partial window divided by the configured K": Step(lambda f: f.mean / f.steps,
                                                       "full-window-divisor-on-partial-window", partial=True),
}


def layout(step: Step, world_size: int, microbatches: int) -> list[list[int]]:
    """Uneven counts, one microbatch empty, no two ranks alike; the last rank empty where the mistake is about that."""
    table = [[(5 * r + 3 * k + 2 * r * k) % 7 + 1 for k in range(microbatches)] for r in range(world_size)]
    if microbatches > 1:
        table[0][1] = 0
    if step.empty_rank:
        table[-1] = [0] * microbatches
    return table


def window_of(step: Step, world_size: int, microbatches: int) -> UpdateWindow:
    """The window of the layout, with the facts that this step's mistake is about."""
    counts = layout(step, world_size, microbatches)
    facts: dict = {"padding": [[(r + 2 * k) % 3 + 1 for k in range(len(row))] for r, row in enumerate(counts)]}
    if step.weighted:
        facts["sample_weights"] = [[[0.5 + (3 * i + r + k) % 4 for i in range(n)] for k, n in enumerate(row)]
                                   for r, row in enumerate(counts)]
    if step.partial:
        facts["accumulation_steps"] = microbatches + 1
    return UpdateWindow.from_counts(counts, **facts)


def run_steps(model: dict, items: list, jobs: list) -> list[torch.Tensor]:
    """On a rank: the updates of all jobs (microbatches, name), each with a fresh model; plain SGD with lr 1.

    items[job][r][k] = (inputs, targets); parameters and everything else are equal on all ranks.
    """
    updates = []
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for (microbatches, name), table in zip(jobs, items, strict=True):
        step = STEPS[name]
        window = window_of(step, world_size, microbatches)
        ddp = DistributedDataParallel(build_model(model))
        optimizer = torch.optim.SGD(ddp.parameters(), lr=1.0)
        before = torch.cat([p.detach().flatten() for p in ddp.parameters()]).double()
        weights = iter(window.item_weights[window.item_ranks == rank])
        for k, (inputs, targets) in enumerate(table[rank]):
            ddp.require_backward_grad_sync = k == microbatches - 1
            losses = 0.5 * ((ddp(inputs) - targets) ** 2).sum(-1)
            own = torch.tensor([float(next(weights)) for _ in range(len(inputs))]).to(losses)
            facts = Facts(
                losses, own, window.slot_counts[rank][k], len(inputs),
                window.rank_counts[rank], window.item_count, float(own.sum()), window.weight_sum, rank, k,
                microbatches, window.accumulation_steps, sum(n > 0 for n in window.rank_counts),
                sum(map(sum, window.slot_counts)), sum(row[k] for row in window.counts))
            step.loss(facts).backward()
        optimizer.step()
        updates.append(before - torch.cat([p.detach().flatten() for p in ddp.parameters()]).double())
    return updates
