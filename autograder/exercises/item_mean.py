"""Assignment 1, `item_mean`: the item mean from counts and local means, by one process and by ranks.

The items of a rank without items do not exist: they have no gradient, no mean and no weight. Everything here follows
from g = (1/N) Σ_r n_r ḡ_r (lesson 1).
"""
from __future__ import annotations

import torch

from autograder.diagnosis import Reason
from autograder.exercises.record import Draw, Exercise, Holds, Raises, Trial, Update
from autograder.ranks.wire import Opaque
from autograder.window import UpdateWindow

ASSIGNMENT = "item_mean"
WORKED_TARGETS = ([9.0, 9.0], [7.0] * 6)
WORKED_W, WORKED_LR = 10.0, 0.1
SEPARATION = 0.2


def _squared_error_gradients(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, w: torch.Tensor, targets: torch.Tensor) -> Trial:
        losses = Reason("wrong-answer", "These are the losses ½(w − y)²; their derivatives in w are asked.")
        return Trial(name, ((w, targets),), w - targets, mistakes=((losses, 0.5 * (w - targets) ** 2),))

    if hidden:
        return [trial("many items", draw.normal(), draw.normal(300)),
                trial("large numbers", draw.normal(mean=3e6), draw.normal(5, mean=1e6)),
                trial("float32", draw.normal(dtype=torch.float32), draw.normal(7, dtype=torch.float32)),
                trial("two items", draw.normal(mean=2), draw.normal(2))]
    return [trial("rank 0 of the worked example", torch.tensor(WORKED_W, dtype=torch.float64),
                  torch.tensor(WORKED_TARGETS[0], dtype=torch.float64)),
            trial("five items", draw.normal(mean=2), draw.normal(5)),
            trial("a single item", draw.normal(mean=2), draw.normal(1))]


def _rank_means(draw: Draw, counts: list[int], width: int, *, scale: float = 1.0) -> torch.Tensor:
    """Local means that differ from rank to rank by more than they vary within: no setting can hide in them."""
    return torch.stack([draw.normal(width, mean=2.0 * (rank % 3) - 1.0) for rank in range(len(counts))]) * scale


def _global_item_mean(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, counts: list[int], means: torch.Tensor) -> Trial:
        n = torch.tensor(counts)
        held = n > 0
        item_mean = (n[held, None] * means[held].double()).sum(0) / n.sum()
        window = UpdateWindow.from_counts(counts)
        update = Update(window, means.double().repeat_interleave(n, 0))
        return Trial(name, ((n, means),), item_mean, counts=tuple(counts),
                     update=update if bool(item_mean.isfinite().all()) else None)

    def error(name: str, counts: list[int], why: str) -> Trial:
        return Trial(name, ((torch.tensor(counts), draw.normal(len(counts), 2)),), Raises(ValueError, why),
                     counts=tuple(counts))

    nan = float("nan")
    if hidden:
        trials = []
        for size in (2, 3, 5, 8):
            counts = draw.uneven_counts(size, largest=40, empty=size // 3)
            means = _rank_means(draw, counts, 3)
            means[torch.tensor(counts) == 0] = nan
            trials.append(trial(f"{size} ranks, empty ones with NaN means", counts, means))
        counts = draw.uneven_counts(4, largest=500)
        poisoned = draw.normal(3, 2, mean=4.0)
        poisoned[1, 0] = nan
        return [*trials, trial("hundreds of items per rank", counts, _rank_means(draw, counts, 2)),
                trial("float32 means", [1, 8, 3], _rank_means(draw, [1, 8, 3], 4).float()),
                trial("an Inf mean on an empty rank", [2, 0, 5],
                      torch.tensor([[1.0, 2.0], [float("inf"), nan], [-3.0, 0.5]], dtype=torch.float64)),
                trial("a NaN mean of a rank with items", [3, 1, 2], poisoned),
                error("a negative count beside larger ones", [5, -1, 3], "no rank can hold fewer than 0 items")]
    with_nan = _rank_means(draw, [4, 0, 1], 2)
    with_nan[1] = nan
    kept_nan = draw.normal(2, 2, mean=4.0)
    kept_nan[1, 1] = nan
    return [
        trial("the worked example", [2, 6], torch.tensor([[1.0], [3.0]], dtype=torch.float64)),
        trial("equal counts", [3, 3], _rank_means(draw, [3, 3], 2)),
        trial("three uneven ranks", [5, 1, 2], _rank_means(draw, [5, 1, 2], 3)),
        trial("an empty rank with a NaN mean", [4, 0, 1], with_nan),
        trial("a NaN mean of a rank with items: it must stay", [2, 3], kept_nan),
        error("all counts 0", [0, 0, 0], "all counts are 0, so there is no item to average"),
        error("a negative count", [3, -1], "no rank can hold fewer than 0 items"),
    ]


def _local_gradients(draw: Draw, counts: list[int], width: int, dtype: torch.dtype = torch.float64) -> list:
    return [draw.normal(count, width, mean=2.0 * (rank % 3) - 1.0, dtype=dtype) for rank, count in enumerate(counts)]


def _synchronized_item_mean(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, gradients: list[torch.Tensor]) -> Trial:
        counts = [len(rows) for rows in gradients]
        items = torch.cat(gradients).double()
        return Trial(name, tuple((rows,) for rows in gradients), items.mean(0), counts=tuple(counts),
                     update=Update(UpdateWindow.from_counts(counts), items))

    def random(name: str, counts: list[int], width: int = 3, dtype: torch.dtype = torch.float64) -> Trial:
        return trial(name, _local_gradients(draw, counts, width, dtype))

    if hidden:
        return [random("one rank holds nearly everything", [1, 60]),
                random("two of three ranks empty", [0, 0, 4], 2),
                random("rank 0 empty", [0, *draw.uneven_counts(3)]),
                random("equal counts on four ranks", [3, 3, 3, 3], 4),
                random("wide gradients", draw.uneven_counts(2), 1000),
                random("float32, an empty rank", draw.uneven_counts(3, empty=1), 5, torch.float32),
                random("eight ranks, three empty", draw.uneven_counts(8, largest=20, empty=3)),
                trial("large gradients", [1e8 * g for g in _local_gradients(draw, draw.uneven_counts(3), 2)])]
    return [
        random("one rank", [4]),
        trial("the worked example", [torch.tensor([[WORKED_W - y] for y in targets], dtype=torch.float64)
                                     for targets in WORKED_TARGETS]),
        random("equal counts", [3, 3], 2),
        random("an empty rank", [5, 0, 2]),
        random("float32", [2, 7, 1], 4, torch.float32),
        random("four uneven ranks", [1, 7, 2, 4]),
        random("eight ranks, one empty", [3, 1, 0, 6, 2, 9, 1, 4]),
    ]


def _sgd_step(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, w: torch.Tensor, targets: list[torch.Tensor], lr: float) -> Trial:
        counts = [len(rows) for rows in targets]
        gradients = (w - torch.cat(targets)).double()
        expected = w.double() - lr * gradients.mean()
        gradient = Reason("wrong-answer", "This is the gradient of the objective; the w after a step is asked.")
        update = Update(UpdateWindow.from_counts(counts), gradients[:, None],
                        of=lambda value: ((w.double() - value.double()) / lr).reshape(1))
        return Trial(name, tuple((w, rows, lr) for rows in targets), expected, counts=tuple(counts), update=update,
                     mistakes=((gradient, gradients.mean()),))

    def random(name: str, counts: list[int], lr: float, dtype: torch.dtype = torch.float64) -> Trial:
        w = torch.tensor(5.0 + draw.integer(0, 3), dtype=dtype)
        targets = [draw.normal(count, mean=2.5 * (rank % 3) - 2.0, dtype=dtype) for rank, count in enumerate(counts)]
        return trial(name, w, targets, lr)

    if hidden:
        return [random("a learning rate of 1", draw.uneven_counts(3), 1.0),
                random("rank 0 empty", [0, 3, 1], 0.25),
                random("all items on one rank", [0, 0, 5, 0], 0.5),
                random("float32, an empty rank", [6, 0, 1], 0.5, torch.float32),
                random("eight ranks", draw.uneven_counts(8, empty=2), 0.125)]
    return [
        random("one rank", [4], 0.5),
        trial("the worked example", torch.tensor(WORKED_W, dtype=torch.float64),
              [torch.tensor(targets, dtype=torch.float64) for targets in WORKED_TARGETS], WORKED_LR),
        random("equal counts", [2, 2], 0.5),
        random("an empty rank", [5, 0, 2], 0.25),
        random("four uneven ranks", [1, 7, 2, 4], 0.5),
        random("float32", [3, 1], 0.5, torch.float32),
        random("eight ranks, one empty", [3, 1, 0, 6, 2, 9, 1, 4], 0.5),
    ]


def _is_synchronized(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, tensors: list[torch.Tensor], expected: bool, key: str = "wrong-answer",
              why: str = "") -> Trial:
        wrong = Reason(key, f"{why}\nRight is {expected}, on every rank.")
        return Trial(name, tuple((tensor,) for tensor in tensors), expected, mistakes=((wrong, not expected),))

    def equal(size: int, *shape: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
        tensor = draw.normal(*shape, dtype=dtype)
        return [tensor.clone() for _ in range(size)]

    def one_off(size: int, odd: int, place: int, by: float, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
        tensors = equal(size, 6, dtype=dtype)
        tensors[odd][place] += by
        return tensors

    nan, inf = float("nan"), float("inf")
    everywhere = torch.tensor([1.0, nan, 2.0], dtype=torch.float64)
    somewhere = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    tiny = "The tensors differ in one element by little. Equal means equal: a tolerance hides a drift that grows."
    if hidden:
        order = equal(2, 4)
        return [trial("the last of four ranks differs in its last element", one_off(4, 3, 5, 1e-12), False,
                      "wrong-tolerance", tiny),
                trial("float32, one element differs by one unit in the last place",
                      [torch.ones(3), torch.ones(3), torch.ones(3) + torch.tensor([0, 2.0**-23, 0])], False,
                      "wrong-tolerance", tiny),
                trial("the same numbers in another order", [order[0], order[1].flip(0)], False,
                      why="The ranks hold the same numbers in another order, so elements differ."),
                trial("opposite differences that cancel in a sum", [somewhere, somewhere + torch.tensor([1.0, -1, 0])],
                      False, why="Elements differ although the sums are equal."),
                trial("Inf on all ranks", [torch.tensor([inf, -inf])] * 3, True, why="Inf equals Inf."),
                trial("Inf against -Inf", [torch.tensor([inf]), torch.tensor([-inf])], False,
                      why="Inf and -Inf differ."),
                trial("NaN on all eight ranks", [everywhere.clone() for _ in range(8)], True,
                      why="NaN stands on every rank: by the contract that counts as equal."),
                trial("zero and minus zero", [torch.tensor([0.0]), torch.tensor([-0.0])], True,
                      why="0.0 == -0.0 is true."),
                trial("a matrix, equal on three ranks", equal(3, 2, 5), True, why="All elements are equal.")]
    return [
        trial("one rank", equal(1, 3), True, why="A single rank agrees with itself."),
        trial("equal on two ranks", equal(2, 4), True, why="All elements are equal."),
        trial("different on two ranks", one_off(2, 1, 2, 1.0), False, why="Element 2 differs."),
        trial("a difference of 1e-12", one_off(2, 0, 3, 1e-12), False, "wrong-tolerance", tiny),
        trial("NaN on all ranks", [everywhere.clone() for _ in range(2)], True,
              why="NaN stands on every rank: by the contract that counts as equal."),
        trial("NaN on one rank only", [everywhere, somewhere, somewhere.clone()], False,
              why="Rank 0 holds NaN where the others hold 0.0."),
        trial("only the middle rank differs", one_off(3, 1, 0, 0.5), False, why="Rank 1 differs from the others."),
        trial("equal on four ranks", equal(4, 2, 3), True, why="All elements are equal."),
        trial("only the last of eight ranks differs", one_off(8, 7, 4, 0.25), False, why="Rank 7 differs."),
    ]


def _is_equivalent(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, reference: torch.Tensor, update: torch.Tensor, expected: bool, why: str,
              key: str = "wrong-tolerance", rtol: float | None = None) -> Trial:
        arguments = (reference, update) if rtol is None else (reference, update, rtol)
        return Trial(name, (arguments,), expected,
                     mistakes=((Reason(key, f"{why}\nRight is {expected}."), not expected),))

    nan, inf = float("nan"), float("inf")
    scale_first = "Divide by the largest value before you square."
    reference = draw.normal(8, mean=1.0)
    norm = reference.norm()
    spread = torch.ones(8, dtype=torch.float64) / 8**0.5
    zero = torch.zeros(3, dtype=torch.float64)
    last = torch.zeros(8, dtype=torch.float64)
    last[-1] = 1.0
    if hidden:
        long = torch.ones(10_000, dtype=torch.float64)
        return [
            trial("spread over 10,000 elements: each far below rtol, together above", long,
                  long + 5e-6 * torch.ones_like(long) * torch.randn(10_000, generator=draw.generator).sign().double(),
                  False, "The norm of the difference is 5e-6 of the reference's norm, above rtol = 1e-6."),
            trial("one element off by more than rtol of itself, the norm is not", 1e3 * last + spread,
                  1e3 * last + spread * (1 + 1e-5), True,
                  "The norms are compared, not single elements: the difference is 1e-8 of the norm."),
            trial("a small reference", 1e-9 * reference, 1e-9 * reference * (1 + 1e-3), False,
                  "The tolerance is relative: at a reference of norm 1e-9, a part in a thousand is a lot."),
            trial("a large reference", 1e9 * reference, 1e9 * reference + spread, True,
                  "The tolerance is relative: 1 against a norm of 1e9 is little."),
            trial("a transposed shape", torch.ones(2, 3), torch.ones(3, 2), False,
                  "Another shape is another update.", "wrong-answer"),
            trial("Inf in both", torch.tensor([1.0, inf]), torch.tensor([1.0, inf]), False,
                  "An update with Inf in it is no update.", "wrong-answer"),
            trial("Inf in the reference alone", torch.tensor([1.0, inf]), torch.tensor([1.0, 2.0]), False,
                  "A reference with Inf in it is no reference.", "wrong-answer"),
            trial("NaN in the reference", torch.tensor([1.0, nan]), torch.tensor([1.0, 2.0]), False,
                  "NaN anywhere makes the answer False.", "wrong-answer"),
            trial("an own rtol, just within", reference, reference + 0.9e-2 * norm * last, True,
                  "The difference is 0.009 of the norm, within rtol = 0.01.", rtol=1e-2),
            trial("an own rtol, just above", reference, reference + 1.1e-2 * norm * last, False,
                  "The difference is 0.011 of the norm, above rtol = 0.01.", rtol=1e-2),
            trial("a part in a thousand of 1e-200", 1e-200 * reference, 1e-200 * reference * (1 + 1e-3), False,
                  f"They differ by a part in a thousand; the squares of both are 0. {scale_first}"),
            trial("rounding at 1e200", 1e200 * reference, 1e200 * reference * (1 + 1e-12), True,
                  f"The difference is 1e-12 of the norm: rounding, though the squares are Inf. {scale_first}"),
            trial("float32, a zero reference, an update of 1e-30", zero.float(), zero.float() + 1e-30, False,
                  f"The update is not zero; in float32 its square is. {scale_first}"),
            trial("float32, numbers of 1e30, twice what they should be", 1e30 * spread.float(), 2e30 * spread.float(),
                  False, f"The update is twice the reference; in float32 the squares of both are Inf. {scale_first}"),
        ]
    return [
        trial("the same tensor", reference, reference.clone(), True, "Nothing differs.", "wrong-answer"),
        trial("half of it: a wrong scale", reference, 0.5 * reference, False, "The update is half the reference.",
              "wrong-answer"),
        trial("another summation order", reference, reference + 1e-12 * norm * spread, True,
              "The difference is 1e-12 of the norm: rounding."),
        trial("a difference of 1e-5 of the norm", reference, reference + 1e-5 * norm * spread, False,
              "The norm of the difference is 1e-5 of the reference's norm, above rtol = 1e-6."),
        trial("rtol = 0.1", reference, reference + 0.05 * norm * spread, True,
              "The difference is 0.05 of the norm, within rtol = 0.1.", rtol=0.1),
        trial("NaN in both", torch.tensor([1.0, nan]), torch.tensor([1.0, nan]), False,
              "NaN anywhere makes the answer False.", "wrong-answer"),
        trial("a shape that would broadcast", torch.ones(3), torch.ones(1), False,
              "Another shape is another update, even where it would broadcast.", "wrong-answer"),
        trial("a zero reference, a zero update", zero, zero.clone(), True, "Both are zero.", "wrong-answer"),
        trial("a zero reference, a tiny update", zero, zero + 1e-9, False,
              "Nothing but zero is near a zero reference: the tolerance is relative."),
        trial("a zero reference, an update of 1e-200", zero, zero + 1e-200, False,
              f"The update is not zero; its square, 1e-400, is less than float64 can hold. {scale_first}"),
        trial("numbers of 1e200, half of what they should be", 1e200 * reference, 0.5e200 * reference, False,
              f"Half of the reference is missing. Squares of 1e200 are Inf, and Inf ≤ Inf is true. {scale_first}"),
    ]


def _synchronized_but_wrong(draw: Draw, hidden: bool) -> list[Trial]:
    return [] if hidden else [Trial("your example", ((),), Holds(_judge_example))]


def _judge_example(value: object) -> Reason | None:
    """‖mean of rank means − item mean‖ ≥ 0.2·‖item mean‖ > 0, with P ≥ 2 ranks that all hold items."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return Reason("wrong-type", "The function must return (counts, means).")
    counts, means = value
    for name, tensor in (("counts", counts), ("means", means)):
        if not isinstance(tensor, torch.Tensor):
            kind = tensor.type_name if isinstance(tensor, Opaque) else type(tensor).__name__
            return Reason("wrong-type", f"{name} must be a tensor, not a {kind}.")
    if counts.dtype != torch.int64 or not means.is_floating_point():
        return Reason("wrong-type", f"counts must be int64 and means floating; they are {str(counts.dtype)[6:]} and "
                                    f"{str(means.dtype)[6:]}.")
    if counts.ndim != 1 or means.ndim != 2 or len(counts) != len(means) or means.shape[1] < 1:
        return Reason("wrong-shape", f"counts must be [P] and means [P, D]; they are {list(counts.shape)} and "
                                     f"{list(means.shape)}.")
    if len(counts) < 2:
        return Reason("wrong-answer", "With one rank nothing can go wrong: P must be at least 2.")
    if int(counts.min()) < 1:
        return Reason("wrong-answer", f"Every rank must hold at least one item; the counts are {counts.tolist()[:8]}.")
    if not bool(means.isfinite().all()):
        return Reason("nan-or-inf", "All means must be finite.")
    n, means = counts.double(), means.double()
    means = means / (means.abs().max() or 1.0)  # sums and squares of what is left are finite
    item_mean = (n[:, None] * means).sum(0) / n.sum()
    away = float((means.mean(0) - item_mean).norm())
    size = float(item_mean.norm())
    if not size > 0:
        return Reason("wrong-answer", "The item mean is zero: a step of zero cannot be 20 % wrong.")
    if away < SEPARATION * size:
        return Reason("wrong-answer", f"The mean of the rank means is {away / size:.1%} away from the item mean; "
                                      f"at least {SEPARATION:.0%} is asked. What makes the two differ?")
    return None


EXERCISES = (
    Exercise("squared_error_gradients", ASSIGNMENT, _squared_error_gradients, ranks=False),
    Exercise("global_item_mean", ASSIGNMENT, _global_item_mean, ranks=False),
    Exercise("synchronized_item_mean", ASSIGNMENT, _synchronized_item_mean),
    Exercise("sgd_step", ASSIGNMENT, _sgd_step),
    Exercise("is_synchronized", ASSIGNMENT, _is_synchronized),
    Exercise("is_equivalent", ASSIGNMENT, _is_equivalent, ranks=False),
    Exercise("synchronized_but_wrong", ASSIGNMENT, _synchronized_but_wrong, ranks=False),
)
