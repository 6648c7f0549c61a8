"""Assignment 4, `token_counts`: the item is a valid target token, and every count and every divisor follows from that.

Labels [B, T] are shifted by one: position t predicts label t+1, so the targets are labels[:, 1:], and those equal to
`ignore_index` are no items (lesson 4). Mistakes about *which* (position, target) pairs are items are named by the
update, the loss or the count that the mistaken pairs give; mistakes about their weights by the dials.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from autograder.diagnosis import Reason
from autograder.dials.sentences import weights_line
from autograder.exercises.record import Draw, Exercise, Raises, Trial, Update
from autograder.exercises.rules import TOLERANCE, rule_on, shown
from autograder.exercises.training import (
    STAGE,
    ExpectedCall,
    ExpectedUpdate,
    OtherItems,
    Training,
    rule_on_training,
    training_trial,
)
from autograder.ranks import wire
from autograder.ranks.report import RankOutcome
from autograder.stages.models import describe_model
from autograder.window import IGNORE_INDEX, UpdateWindow

ASSIGNMENT = "token_counts"
VOCABULARY = 7
PAD = 0
LONGEST = 8
_MODEL = {"vocabulary": VOCABULARY, "width": 3, "longest": LONGEST}
_LR = 0.5
_NO_TOKEN = "no rank has a valid token (N = 0)"


# ---- batches of tokens

@dataclass(frozen=True)
class Row:
    """A row of a batch: `length` tokens and then padding; the labels of the first `prompt` are masked."""

    length: int
    prompt: int = 0


def _batch(draw: Draw, rows: Sequence[Row], width: int, *, ignore_index: int = IGNORE_INDEX) -> tuple[Tensor, Tensor]:
    """(input_ids, labels) [B, width]: padding is PAD in the ids and ignored in the labels; no token is PAD or 1."""
    ids = torch.full((len(rows), width), PAD)
    labels = torch.full((len(rows), width), ignore_index)
    for b, row in enumerate(rows):
        ids[b, : row.length] = torch.tensor([draw.integer(2, VOCABULARY - 1) for _ in range(row.length)])
        labels[b, row.prompt : row.length] = ids[b, row.prompt : row.length]
    return ids, labels


@dataclass(frozen=True)
class Pairs:
    """(position, target) pairs of a batch [B, T]: rows, positions, targets, each [n]."""

    rows: Tensor
    positions: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)


def _pairs(labels: Tensor, ignore_index: int = IGNORE_INDEX, shift: int = 1) -> Pairs:
    """Pairs (t, label t + shift) inside each row, without those whose label is ignored."""
    width = labels.shape[1]
    rows, places = (labels != ignore_index).nonzero(as_tuple=True)
    positions = places - shift
    inside = (positions >= 0) & (positions < width)
    return Pairs(rows[inside], positions[inside], labels[rows[inside], places[inside]])


def _rolled_pairs(labels: Tensor, ignore_index: int = IGNORE_INDEX) -> Pairs:
    """The last position of a row predicts its first label: torch.roll(labels, -1, dims=1)."""
    right, first = _pairs(labels, ignore_index), (labels[:, 0] != ignore_index).nonzero().flatten()
    return Pairs(torch.cat([right.rows, first]), torch.cat([right.positions, first * 0 + labels.shape[1] - 1]),
                 torch.cat([right.targets, labels[first, 0]]))


def _flat_pairs(labels: Tensor, ignore_index: int = IGNORE_INDEX) -> Pairs:
    """The last position of a row predicts the first label of the next: labels.flatten()[1:]."""
    right, first = _pairs(labels, ignore_index), (labels[1:, 0] != ignore_index).nonzero().flatten()
    return Pairs(torch.cat([right.rows, first]), torch.cat([right.positions, first * 0 + labels.shape[1] - 1]),
                 torch.cat([right.targets, labels[1:][first, 0]]))


SHIFTS = (
    ("position t was taken to predict label t: nothing was shifted", lambda labels, i: _pairs(labels, i, 0)),
    ("position t was taken to predict label t - 1: shifted the wrong way", lambda labels, i: _pairs(labels, i, -1)),
    ("position t was taken to predict label t + 2: shifted twice", lambda labels, i: _pairs(labels, i, 2)),
    ("the last position of each row was taken to predict the row's first label: a roll, not a shift", _rolled_pairs),
    ("the last position of each row was taken to predict the first label of the next row: all rows were shifted as "
     "one", _flat_pairs),
)


def _tokens(count: int) -> str:
    return "1 valid target" if count == 1 else f"{count} valid targets"


# ---- valid_token_count

def _valid_token_count(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, labels: Tensor, *ignore_index: int) -> Trial:
        ignored = ignore_index[0] if ignore_index else IGNORE_INDEX
        right = len(_pairs(labels, ignored))
        return Trial(name, ((labels, *ignore_index),), right, mistakes=_miscounted(labels, ignored, right))

    def drawn(name: str, lengths: Sequence[int], width: int, *ignore_index: int, prompt: int = 0) -> Trial:
        rows = [Row(length, min(prompt, length)) for length in lengths]
        ignored = ignore_index[0] if ignore_index else IGNORE_INDEX
        return trial(name, _batch(draw, rows, width, ignore_index=ignored)[1], *ignore_index)

    if hidden:
        holes = _batch(draw, [Row(9), Row(7), Row(4)], 9)[1]
        holes[0, 3:5] = holes[1, 1] = IGNORE_INDEX
        return [drawn("many rows", [draw.integer(1, 60) for _ in range(50)], 60),
                trial("ignored labels in the middle of rows", holes),
                drawn("ignore_index = -1", [6, 2, 4], 7, -1),
                drawn("ignore_index = 3, a token id that occurs", [8, 5, 7], 8, 3),
                drawn("rows of which only the first label counts", [1, 1, 3], 4),
                trial("no row of width 1", torch.zeros(0, 1, dtype=torch.int64)),
                trial("int32 labels", holes.int())]
    return [drawn("one row without padding", [5], 5),
            drawn("rows of different lengths", [6, 2, 4, 1], 7),
            drawn("masked prompts: no first label counts", [6, 3, 5], 7, prompt=2),
            drawn("T = 1: nothing to predict", [1, 1, 1], 1),
            trial("B = 0: no row", torch.zeros(0, 6, dtype=torch.int64)),
            drawn("every label ignored", [0, 0], 5),
            drawn("ignore_index = 0, a token id", [5, 3, 6], 6, 0)]


def _miscounted(labels: Tensor, ignored: int, right: int) -> tuple[tuple[Reason, int], ...]:
    """Other counts of these labels that have a name."""
    size, due = f"labels have shape {list(labels.shape)}", f"\nThere are {_tokens(right)}."
    kept, targets = int((labels != ignored).sum()), labels[:, 1:]
    wrong = [("unshifted-count", kept, f"{kept} labels are not ignored, but {kept - right} of them stand first in "
              "their row, where no position predicts them: this is the count before the shift.")]
    if ignored != IGNORE_INDEX:
        for name, counted in (("targets", targets), ("labels", labels)):
            fixed = int((counted != IGNORE_INDEX).sum())
            wrong.append(("padding-counted", fixed, f"{fixed} {name} differ from -100; here {ignored} is ignored."))
    else:
        both = int(((targets != ignored) & (targets > 0)).sum())
        wrong.append(("wrong-answer", both, f"{both} targets are positive; 0 is a token id, too."))
    shifted = int((labels[:, :-1] != ignored).sum())
    flat = len(_flat_pairs(labels, ignored))
    wrong += [("padding-counted", targets.numel(), f"{targets.numel()} is every target place, ignored ones counted; "
               f"{size}."),
              ("padding-counted", labels.numel(), f"{labels.numel()} is every place, ignored ones counted; {size}."),
              ("wrong-shift", shifted, f"{shifted} labels of labels[:, :-1] are not ignored: the last label of each "
               "row is left out in place of the first."),
              ("wrong-shift", flat, f"{flat} is what is left after the first label of all, not of each row."),
              ("wrong-shift", int((labels[1:] != ignored).sum()), "That is the count of labels[1:], which leaves out "
               "the first row; the first label of each row is no target."),
              ("wrong-answer", len(labels), f"{len(labels)} is the number of rows; the items are tokens.")]
    if targets.numel() > right:
        wrong.append(("wrong-answer", targets.numel() - right, f"{targets.numel() - right} targets are ignored: the "
                      "others count."))
    return tuple((Reason(key, why + due), value) for key, value, why in wrong if value != right)


# ---- token_loss_sum

def _token_loss_sum(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, logits: Tensor, labels: Tensor, *ignore_index: int) -> Trial:
        ignored = ignore_index[0] if ignore_index else IGNORE_INDEX
        right = _pair_losses(logits, _pairs(labels, ignored)).sum()
        return Trial(name, ((logits, labels, *ignore_index),), right,
                     mistakes=_mistaken_losses(logits.double(), labels, ignored, float(right)))

    def drawn(name: str, rows: Sequence[Row], width: int, *ignore_index: int, scale: float = 1.0,
              dtype: torch.dtype = torch.float64) -> Trial:
        ignored = ignore_index[0] if ignore_index else IGNORE_INDEX
        labels = _batch(draw, rows, width, ignore_index=ignored)[1]
        return trial(name, scale * draw.normal(len(rows), width, VOCABULARY, dtype=dtype), labels, *ignore_index)

    if hidden:
        holes = _batch(draw, [Row(8), Row(6), Row(3)], 8)[1]
        holes[0, 2:4] = holes[1, 1] = IGNORE_INDEX
        return [trial("ignored labels in the middle of rows", draw.normal(3, 8, VOCABULARY), holes),
                drawn("ignore_index = -1", [Row(5), Row(2)], 6, -1),
                drawn("ignore_index = 3, a token id that occurs", [Row(7), Row(6)], 7, 3),
                drawn("float32, no valid target", [Row(0), Row(1)], 4, dtype=torch.float32),
                drawn("logits of size 1000", [Row(4), Row(6)], 6, scale=600.0),
                trial("no row of width 1", draw.normal(0, 1, VOCABULARY), torch.zeros(0, 1, dtype=torch.int64)),
                drawn("many rows", [Row(draw.integer(1, 16)) for _ in range(24)], 16)]
    return [drawn("one row without padding", [Row(5)], 5),
            drawn("rows of different lengths", [Row(6), Row(2), Row(4)], 7),
            drawn("masked prompts", [Row(6, 2), Row(3, 1), Row(5, 3)], 6),
            drawn("no valid target", [Row(0), Row(0)], 4),
            drawn("T = 1: nothing to predict", [Row(1), Row(1)], 1),
            trial("B = 0: no row", draw.normal(0, 5, VOCABULARY), torch.zeros(0, 5, dtype=torch.int64)),
            drawn("ignore_index = 0, a token id", [Row(5), Row(3)], 6, 0),
            drawn("float32", [Row(6), Row(3)], 6, dtype=torch.float32)]


def _pair_losses(logits: Tensor, pairs: Pairs) -> Tensor:
    """The cross entropy of each pair, [n] float64."""
    return cross_entropy(logits[pairs.rows, pairs.positions].double(), pairs.targets.long(), reduction="none")


def _mistaken_losses(logits: Tensor, labels: Tensor, ignored: int, right: float) -> tuple[tuple[Reason, Tensor], ...]:
    """Other losses of these logits [B, T, V] that have a name."""
    pairs, places = _pairs(labels, ignored), labels[:, 1:].numel()
    due = f"\nThe sum over the {_tokens(len(pairs))} is {right:.6g}."
    wrong: list[tuple[str, float, str]] = []

    def add(key: str, value: Tensor | float, why: str) -> None:
        wrong.append((key, float(value), why))

    losses = _pair_losses(logits, pairs)
    if ignored in range(VOCABULARY):
        everything = _pair_losses(logits, _pairs(labels, VOCABULARY)).sum()
        add("padding-counted", everything, f"Targets equal to ignore_index = {ignored} were learnt, too.")
    if len(pairs):
        lengths = pairs.rows.bincount(minlength=len(labels)).double()
        by_sequence = (losses / lengths[pairs.rows]).sum()
        again = logits.softmax(-1)
        add("pure-scale", -right, "The sign is turned: a cross entropy is −log p.")
        add("pure-scale", right / math.log(2), "This is the sum in bits, with logarithms to base 2; nats are asked.")
        add("wrong-answer", _pair_losses(again, pairs).sum(), "A softmax was taken before cross_entropy, which takes "
            "one itself: it wants the logits.")
        add("pure-scale", right / len(pairs), f"This is the mean: the sum was divided by {len(pairs)}.")
        add("padding-counted", right / places, f"The sum was divided by all {places} target places, ignored ones, too.")
        add("sequence-mean", by_sequence, "These are means, one for each row, added.")
        add("sequence-mean", by_sequence / len(labels), "This is the mean of the rows' means.")
    for words, mistaken in SHIFTS:
        other = mistaken(labels, ignored)
        if len(other):
            total = float(_pair_losses(logits, other).sum())
            add("wrong-shift", total, f"The loss of {len(other)} other pairs: {words}.")
            add("wrong-shift", total / len(other), f"The mean loss of {len(other)} other pairs: {words}.")
    return tuple((Reason(key, f"It returned {value:.6g}. {why}{due}"), torch.tensor(value, dtype=torch.float64))
                 for key, value, why in wrong if abs(value - right) > 1e-9 * abs(right))


def rule_on_loss(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule for the value, and what its graph says: gradients with respect to the logits."""
    result = wire.decode(outcomes[0].result) if outcomes[0].end == "returned" else None
    if result and result["derivative_error"]:
        return [Reason("gradients-lost", "No gradient can be had from the value: backward raised "
                                         f"{result['derivative_error'][:120]!r}.\nThe caller calls backward, once.")]
    if reasons := rule_on(trial, outcomes):
        return reasons
    logits, labels, *ignore_index = trial.arguments[0]
    pairs = _pairs(labels, *ignore_index)
    (derivative,) = result["derivatives"]
    if not isinstance(derivative, Tensor):
        none = "" if len(pairs) else " Also with no valid target the loss must depend on the logits: a DDP rank " \
                                     "without a graph never reduces, and the others wait for it."
        return [Reason("gradients-lost", "The value is right, but it is not in the graph: nothing leads back to the "
                                         f"logits.{none}")]
    live = logits.double().requires_grad_()
    (right,) = torch.autograd.grad(_pair_losses(live, pairs).sum(), live)
    away = (derivative.double() - right).abs().max() if right.numel() else torch.tensor(0.0)
    bound = TOLERANCE[result["value"].dtype] * (right.abs().max() if right.numel() else 0.0)
    if not bool(away <= bound):
        where = "nan-or-inf" if not bool(derivative.isfinite().all()) else "wrong-answer"
        return [Reason(where, "The value is right, but its gradient with respect to the logits is not.\n"
                              f"It begins {shown(derivative)}; right is {shown(right)}.")]
    return []


# ---- token_mean_step

def token_losses(models: nn.ModuleDict, ids: Tensor, rows: Tensor, positions: Tensor, targets: Tensor) -> Tensor:
    """The cross entropy [n] of the pairs (rows, positions, targets) of the batch ids [B, T]."""
    return cross_entropy(models["model"](ids)[rows, positions], targets, reduction="none")


def _joined_batch(ids: Sequence[Tensor], pairs: Sequence[Pairs]) -> tuple[Tensor, ...]:
    """The batches of all ranks as one: rows below each other, padded behind to one width, as causal models allow."""
    width = max(batch.shape[1] for batch in ids)
    first = torch.tensor([0, *(len(batch) for batch in ids)]).cumsum(0)
    return (torch.cat([nn.functional.pad(batch, (0, width - batch.shape[1]), value=PAD) for batch in ids]),
            torch.cat([part.rows + start for part, start in zip(pairs, first[:-1], strict=True)]),
            torch.cat([part.positions for part in pairs]), torch.cat([part.targets for part in pairs]))


def _expected_update(ids: Sequence[Tensor], labels: Sequence[Tensor]) -> ExpectedUpdate:
    """The token mean over the batches of all ranks, and the other sets of pairs that are taken for its items."""
    right = [_pairs(own) for own in labels]
    count, batch = sum(map(len, right)), _joined_batch(ids, right)
    window = UpdateWindow.from_labels([[own] for own in labels])

    def other(key: str, words: str, pairs: list[Pairs]) -> OtherItems | None:
        if not any(map(len, pairs)):
            return None
        words = f"{words} ({sum(map(len, pairs))} pairs in the window; {count} are right)."
        counts = [len(part) for part in pairs]
        facts = {"unshifted_counts": [[len(part)] for part in right], "padding": [
            own[:, 1:].numel() - n if all(own[:, 1:].numel() >= n for own, n in zip(labels, counts, strict=True)) else 0
            for own, n in zip(labels, counts, strict=True)]}
        return OtherItems(key, words, UpdateWindow.from_counts(counts, **facts), _joined_batch(ids, pairs))

    shifted = [other("wrong-shift", words[0].upper() + words[1:], [mistaken(own, IGNORE_INDEX) for own in labels])
               for words, mistaken in SHIFTS]
    learnt = other("padding-counted", "The input ids were taken as targets, padding and masked prompts with them",
                   [_pairs(own, IGNORE_INDEX) for own in ids])
    read = [_pairs(own, PAD) for own in ids]
    prompts = None if sum(map(len, read)) == count else other(
        "padding-counted", "The input ids without padding were taken as targets, masked prompts with them", read)
    placed = [own.numel() for own in labels]
    places = OtherItems("padding-counted", f"All {sum(placed)} places of the batches were counted, ignored ones and "
                                           f"the first of each row, too; there are {_tokens(count)}.",
                        UpdateWindow.from_counts([len(part) for part in right], padding=[
                            all_of_them - len(part) for all_of_them, part in zip(placed, right, strict=True)]), batch)
    return ExpectedUpdate(window, batch, alternatives=partial(_divided_by_rows, window, labels),
                          mistaken=tuple(entry for entry in (*shifted, learnt, prompts, places) if entry is not None))


def _divided_by_rows(window: UpdateWindow, labels: Sequence[Tensor],
                     gradients: Tensor) -> Iterator[tuple[Reason, Tensor]]:
    """Sums of token losses divided by a number of sequences, or of positions: pairs of (reason, update [D])."""
    learnt = [(own[:, 1:] != IGNORE_INDEX).any(1).sum() for own in labels]
    counted = (("number of sequences", [len(own) for own in labels]),
               ("number of sequences with a valid target", learnt),
               ("number of positions in a row", [own.shape[1] - 1 for own in labels]))
    p = window.world_size
    for what, numbers in counted:
        rows = torch.tensor(numbers, dtype=torch.float64)
        own = 1 / rows.clamp(min=1)[window.item_ranks]
        told = ", ".join(str(int(n)) for n in numbers)
        of_all = f"The sum of all token losses was divided by the {what}, {int(rows.sum())}"
        of_rank = f"Each rank's sum of token losses was divided by its own {what} ({told})" if p > 1 else \
            f"The sum of the token losses was divided by the {what}, {told}"
        for words, weights in ((of_rank, own / p), (of_rank, own), (of_all, own * 0 + 1 / rows.sum().clamp(min=1)),
                               (of_all, own * 0 + 1 / rows.sum().clamp(min=1) / p)):
            yield Reason("nominal-batch-size", f"{words}, not by the {window.item_count} valid targets of the window.\n"
                         f"{weights_line(weights, window)}", tuple(weights.tolist()), window), weights @ gradients


RankBatch = tuple[int, Sequence[Row]]  # T, and the rows


def _token_mean_step(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *windows: Sequence[RankBatch], dtype: torch.dtype = torch.float64) -> Trial:
        """Each window, the batches of the ranks, is one call with the same model."""
        model = describe_model("tokens", _MODEL, draw.generator, dtype)
        calls, expected, counts = [], [], []
        for ranks in windows:
            batches = [_batch(draw, rows, width) for width, rows in ranks]
            ids, labels = zip(*batches, strict=True)
            calls.append([["@model", *batch, "@optimizer"] for batch in batches])
            counts.append([len(_pairs(own)) for own in labels])
            if sum(counts[-1]):
                expected.append(ExpectedCall((_expected_update(ids, labels),)))
        error = None if expected else Raises(ValueError, _NO_TOKEN)
        same = len(set(map(tuple, counts))) == 1
        return training_trial(name, Training({"model": model}, _LR, token_losses, tuple(expected), error), calls,
                              counts=tuple(counts[0]) if same else tuple(zip(*counts, strict=True)),
                              warm={"model": torch.arange(6).reshape(2, 3) % VOCABULARY})

    def rows(*lengths: int, prompt: int = 0) -> list[Row]:
        return [Row(length, min(prompt, length)) for length in lengths]

    def any_rows(most: int) -> RankBatch:
        lengths = [draw.integer(2, LONGEST) for _ in range(draw.integer(1, most))]
        return max(lengths), rows(*lengths)

    nothing, unpredicted, masked = (5, []), (1, rows(1, 1)), (4, [Row(4, 4), Row(3, 3)])
    if hidden:
        return [trial("a single rank, masked prompts", [(8, rows(8, 5, 6, prompt=2))], [(6, rows(6, 2, prompt=1))]),
                trial("rank 0 without rows", [nothing, any_rows(3)], [(2, []), any_rows(2)]),
                trial("one valid token in all", [(4, rows(4, 2)), unpredicted], [(2, rows(2)), (3, rows(0))]),
                trial("masked prompts on all ranks: the count before the shift is right",
                      [(7, rows(7, 5, prompt=1)), (4, rows(3, prompt=1))],
                      [(4, rows(4, 2, 3, prompt=1)), (8, rows(8, prompt=1))]),
                trial("three ranks, two without a valid token", [any_rows(2), (6, rows(6)), (3, rows(3))],
                      [nothing, any_rows(3), masked]),
                trial("three ranks without a valid token", [nothing, unpredicted, masked]),
                trial("float32, a rank without rows", [(8, rows(8, 3)), (4, rows(4)), (2, rows(2))],
                      [any_rows(2), (3, rows(2, 3)), nothing], dtype=torch.float32),
                trial("four ranks, two of one position", [any_rows(2), unpredicted, (1, rows(1)), any_rows(4)],
                      [any_rows(1), any_rows(2), (8, rows(8, 2)), masked])]
    return [trial("one rank", [(6, rows(6, 3))], [(7, rows(2, 7, 4))]),
            trial("equal counts", [(6, rows(6, 2)), (4, rows(4, 4))], [(5, rows(5)), (3, rows(3, 3))]),
            trial("a long document and two short ones", [(8, rows(8)), (3, rows(2, 3))],
                  [(4, rows(4, 2)), (7, rows(7, 6, 3))]),
            trial("a rank without rows in the second call", [(5, rows(5, 3)), (3, rows(3))],
                  [nothing, (6, rows(6, 4))]),
            trial("no valid token at all", [unpredicted, masked]),
            trial("three ranks, one with T = 1, one with every label ignored",
                  [(6, rows(6, 2)), unpredicted, (5, rows(5, 4))], [(4, rows(4)), (8, rows(8, 3)), masked]),
            trial("float32", [(8, rows(8, 2)), (3, rows(3))], [(2, rows(2)), (6, rows(6, 5))], dtype=torch.float32),
            trial("four uneven ranks, masked prompts",
                  [(2, rows(2)), (8, rows(8, 5, prompt=2)), (3, rows(3)), (5, rows(5, 3, 2))],
                  [(7, rows(7, prompt=3)), (3, rows(2, 3)), nothing, (6, rows(6, 3))])]


# ---- objective_weights

def _objective_weights(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, lengths: list[list[int]], objective: str) -> Trial:
        return Trial(f"{objective}: {name}", ((lengths, objective),), weights_of_tokens(lengths, objective),
                     mistakes=_mistaken_weights(lengths, objective), counts=tuple(map(sum, lengths)))

    def error(lengths: list[list[int]], objective: str) -> Trial:
        return Trial(f"objective {objective!r}", ((lengths, objective),),
                     Raises(ValueError, f"{objective!r} is none of \"token\", \"sequence\", \"rank\""))

    def any_lengths(ranks: int, most: int) -> list[list[int]]:
        return [[draw.integer(0, 40) for _ in range(draw.integer(0, most))] for _ in range(ranks)] + [[17, 0, 3]]

    if hidden:
        several = {"four ranks": any_lengths(3, 4), "eight ranks": any_lengths(7, 3),
                   "a rank without a sequence, one without a token": [[4, 0, 6], [], [0], [9, 2]]}
        return [*(trial(name, lengths, objective)
                  for name, lengths in several.items() for objective in ("token", "sequence", "rank")),
                trial("one token in all", [[0], [0, 1]], "rank"),
                trial("no sequence at all", [[], []], "sequence"), trial("no token at all", [[0], [0, 0], []], "rank"),
                trial("lengths beyond 32 bits", [[3 * 2**31, 2**31], [5]], "token"),
                error([[], []], "mean"), error([[1, 2]], "Token")]
    dealt = [[300, 3], [40, 12, 5]]
    gaps = [[5, 0, 2], [0, 0], [3], []]
    return [trial("a long and short documents", dealt, "token"), trial("a long and short documents", dealt, "sequence"),
            trial("a long and short documents", dealt, "rank"),
            trial("equal lengths, equal ranks", [[4, 4], [4, 4]], "rank"),
            trial("empty sequences, two ranks without a token", gaps, "token"),
            trial("empty sequences, two ranks without a token", gaps, "sequence"),
            trial("empty sequences, two ranks without a token", gaps, "rank"),
            trial("nothing at all", [[0], []], "token"), error(dealt, "example")]


Lengths = Sequence[Sequence[int]]


def weights_of_tokens(lengths: Lengths, objective: str) -> list[list[float]]:
    """The weight of one token of each sequence: 1/N, 1/(S·len) or 1/(P'·n_r); 0.0 where there is none (lesson 4)."""
    tokens = sum(map(sum, lengths))
    sequences = sum(length > 0 for row in lengths for length in row)
    active = sum(sum(row) > 0 for row in lengths)
    divisor = {"token": lambda row, length: tokens, "sequence": lambda row, length: sequences * length,
               "rank": lambda row, length: active * sum(row)}[objective]
    return [[1.0 / divisor(row, length) if length else 0.0 for length in row] for row in lengths]


def _mistaken_weights(lengths: Lengths, objective: str) -> tuple[tuple[Reason, list], ...]:
    """Other weights that have a name."""
    right = weights_of_tokens(lengths, objective)
    if not any(map(any, right)):
        return ()
    p, tokens, numbers = len(lengths), sum(map(sum, lengths)), [len(row) for row in lengths]
    own = [sum(length > 0 for length in row) for row in lengths]
    active = sum(sum(row) > 0 for row in lengths)
    words = {"token": f"1/N = 1/{tokens}", "sequence": f"1/(S·len), S = {sum(own)}",
             "rank": f"1/(P'·n_r), P' = {active}"}

    def table(weight, everywhere: bool = False) -> list[list[float]]:
        return [[float(weight(r, length)) if length or everywhere else 0.0 for length in row]
                for r, row in enumerate(lengths)]

    n = [max(sum(row), 1) for row in lengths]
    wrong: list[tuple[str, list, str]] = [
        (key, weights_of_tokens(lengths, name), f"These are the weights of the {name} mean.")
        for name, key in (("token", "wrong-answer"), ("sequence", "sequence-mean"), ("rank", "mean-of-rank-means"))
        if name != objective]
    wrong += [("mean-of-rank-means", table(lambda r, length: 1 / (p * n[r])),
               f"Ranks were averaged over P = {p}, as DDP does, ranks without a token with them: 1/(P·n_r)."),
              ("sum-of-rank-means", table(lambda r, length: 1 / n[r]), "These are the weights 1/n_r: the ranks' means "
               "were added."),
              ("never-divided", table(lambda r, length: 1 / length), "These are the weights 1/len: the sequences' "
               "means were added, not averaged."),
              ("never-divided", table(lambda r, length: 1.0), "Nothing was divided."),
              ("padding-counted", table(lambda r, length: 1 / (sum(numbers) * length)),
               f"Sequences without a token were counted: S = {sum(own)}, not {sum(numbers)}."),
              ("mean-of-rank-means", table(lambda r, length: 1 / (p * own[r] * length)),
               "The sequences were averaged on each rank, and then the ranks over P: the partition decides again."),
              ("mean-of-rank-means", table(lambda r, length: 1 / (active * own[r] * length)),
               "The sequences were averaged on each rank, and then the ranks: the partition decides again."),
              ("sum-of-rank-means", table(lambda r, length: 1 / (own[r] * length)),
               "The sequences were averaged on each rank, and the ranks added.")]
    votes = [[w * length for w, length in zip(row, own_lengths, strict=True)]
             for row, own_lengths in zip(right, lengths, strict=True)]
    wrong.append(("wrong-answer", votes, "These are the weights of whole sequences; asked is that of one token."))
    wrong.append(("pure-scale", [[w * tokens for w in row] for row in right], "These are multiples of 1/N = "
                  f"1/{tokens}, as pictures show them; asked is the weight itself."))
    if objective != "sequence":
        filled = table(lambda r, length: 1 / tokens if objective == "token" else
                       1 / (active * n[r]) if sum(lengths[r]) else 0.0, everywhere=True)
        wrong.append(("padding-counted", filled, "A sequence without a token has no token to weigh: it gets 0.0."))
    return tuple((Reason(key, f"{why}\nRight is {words[objective]}."), value)
                 for key, value, why in wrong if value != right)


# ---- reported_loss

def _reported_loss(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, counts: Sequence[int], dtype: torch.dtype | None = None) -> Trial:
        """Local sums of token losses as floats, or as 0-d tensors of a dtype; ranks differ in their mean loss."""
        if not sum(counts):
            return Trial(name, tuple((0.0, 0) for _ in counts), Raises(ValueError, _NO_TOKEN), counts=tuple(counts))
        spread = torch.rand(len(counts), generator=draw.generator, dtype=torch.float64).tolist()
        means = [1.0 + 1.7 * (rank % 3) + more for rank, more in enumerate(spread)]
        sums = [torch.tensor(mean * n, dtype=dtype or torch.float64) for mean, n in zip(means, counts, strict=True)]
        losses = torch.cat([(total.double() / max(n, 1)).expand(n) for total, n in zip(sums, counts, strict=True)])
        window = UpdateWindow.from_counts(counts)
        arguments = tuple((total if dtype else float(total), n) for total, n in zip(sums, counts, strict=True))
        return Trial(name, arguments, float(losses.mean()), counts=tuple(counts), update=Update(
            window, losses[:, None], of=lambda value: torch.tensor([float(value)], dtype=torch.float64)))

    if hidden:
        return [trial("rank 0 without a token", [0, *draw.uneven_counts(3)]),
                trial("one rank, 0-d tensors", [draw.integer(2, 9)], torch.float64),
                trial("all tokens on one of four ranks", [0, 0, draw.integer(2, 9), 0]),
                trial("float32, a rank without a token", [draw.integer(2, 9), 0, 1], torch.float32),
                trial("hundreds of tokens", draw.uneven_counts(4, largest=400)),
                trial("eight ranks, three without a token", draw.uneven_counts(8, largest=20, empty=3)),
                trial("eight ranks without a token", [0] * 8)]
    return [trial("one rank", [4]), trial("equal counts", [3, 3]), trial("a long and a short document", [30, 3]),
            trial("a rank without a token", [5, 0, 2]), trial("0-d tensors", [6, 1], torch.float64),
            trial("four uneven ranks, 0-d float32 tensors", [1, 7, 2, 4], torch.float32),
            trial("eight ranks, one without a token", [3, 1, 0, 6, 2, 9, 1, 4]), trial("no token at all", [0, 0])]


def rule_on_report(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule; a reported loss is an average with weights like any update, and is named by the same dials."""
    reasons = rule_on(trial, outcomes)
    if trial.update is None or not reasons or reasons[-1].key != "unexplained":
        return reasons
    *named, last = reasons
    if not named:
        return [Reason("wrong-return-value", f"{last.sentence}\nNo setting of the three dials gives this value."), last]
    objective = f"The reported loss is not the objective's value, {trial.expected:.6g}."
    return [*(replace(r, sentence=f"{objective}\n{r.sentence}".replace("The gradients of", "The losses of"))
              if r.weights else r for r in named), last]


EXERCISES = (
    Exercise("valid_token_count", ASSIGNMENT, _valid_token_count, ranks=False),
    Exercise("token_loss_sum", ASSIGNMENT, _token_loss_sum, ranks=False, rule=rule_on_loss,
             stage="autograder.stages.call:differentiate"),
    Exercise("token_mean_step", ASSIGNMENT, _token_mean_step, stage=STAGE, rule=rule_on_training),
    Exercise("objective_weights", ASSIGNMENT, _objective_weights, ranks=False),
    Exercise("reported_loss", ASSIGNMENT, _reported_loss, rule=rule_on_report),
)
