"""Which settings explain weights or an update: what happened, compared with what each of them predicts."""
from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from autograder.dials.predict import plain_readings, predictions
from autograder.dials.sentences import (
    Causes,
    right_sentence,
    scale_causes,
    scale_sentence,
    setting_sentence,
    weights_line,
    with_causes,
)
from autograder.dials.settings import RIGHT, Setting, diagnosis_key
from autograder.dials.words import number, rank_list
from autograder.window import UpdateWindow

RTOL = 1e-6  # float64; judge float32 updates at 2e-5


@dataclass(frozen=True, eq=False)
class Explanation:
    """One reading of an update.

    key: stable diagnosis key; None when the weights are right, "unexplained" when nothing fits.
    setting: the dials that predict these weights; None when no setting does.
    factor: what the weights sum to, 1.0 when right; for "pure-scale" the factor on every weight.
    sentence: at most two lines with the numbers of this window.
    weights: [N] float64, what each item weighs in this reading; NaN where that is unknown.
    aliases: other keys by which the same setting may be called.
    causes: what may have made the factor of a "pure-scale"; the sentence tells them.
    """

    key: str | None
    setting: Setting | None
    factor: float
    sentence: str
    weights: Tensor
    aliases: tuple[str, ...] = ()
    causes: Causes = ()


def explain_weights(weights: Tensor, window: UpdateWindow, rtol: float = RTOL) -> list[Explanation]:
    """All settings that give these weights [N], best first; never empty.

    A weight that is NaN is unknown and fits anything. Right weights give one entry with key None; when
    nothing fits, the one entry has key "unexplained". Raises ValueError for another shape.
    """
    weights = torch.as_tensor(weights, dtype=torch.float64).detach()
    if weights.shape != (window.item_count,):
        raise ValueError(f"weights have shape {list(weights.shape)}: give one for each of the "
                         f"{window.item_count} items")
    known = ~weights.isnan()
    if not known.any():
        return [_unexplained(window, weights, "No weight is known.")]
    each_alone = torch.eye(len(weights), dtype=torch.float64)[:, known]
    explanations = _explain(weights[known], each_alone, window, rtol)
    if explanations[0].key == "unexplained":
        return [_unexplained(window, weights, "No setting of the three dials gives these weights.")]
    return explanations


def explain_update(
    update: Tensor,
    item_gradients: Tensor,
    window: UpdateWindow,
    rtol: float = RTOL,
    outside: Tensor | None = None,
) -> list[Explanation]:
    """All settings whose predicted update is this one, best first; never empty.

    update [D]; item_gradients [N, D] in item order (or one row per slot of the window: padding is left
    out). Rows may be equal, and D may be 1: predictions are compared and nothing is inverted. The largest
    error may be `rtol` of the update's largest entry. Keys as in `explain_weights`, whose weights are the
    predicted ones here. `outside` [M, D] are gradients that do not belong to this window, such as those of
    the window before; an update that holds some of them has the key "window-boundaries". Raises ValueError
    if shapes do not fit.
    """
    update = torch.as_tensor(update, dtype=torch.float64).detach().flatten()
    rows = torch.as_tensor(item_gradients, dtype=torch.float64).detach()
    rows = rows.reshape(len(rows), -1)
    if len(rows) == len(window.rank):
        rows = rows[window.item_slots]
    if rows.shape != (window.item_count, len(update)):
        raise ValueError(f"an update of {len(update)} numbers and item gradients {list(rows.shape)} do not "
                         f"fit a window of {window.item_count} items: give [D] and [N, D]")
    found = _explain(update, rows, window, rtol)
    if outside is not None and found[0].key == "unexplained":
        outside = outside.detach().double().reshape(-1, len(update))
        return _explain_with_outside(update, rows, outside, window, rtol) or found
    return found


def explain_report(
    value: float, item_losses: Tensor, window: UpdateWindow, rtol: float = RTOL
) -> Explanation:
    """What a reported loss is: key None when it is the objective, else "wrong-return-value".

    item_losses [N]. The sentence says with which dials the reported number would come about.
    """
    best = explain_update(torch.tensor([float(value)]), item_losses.reshape(-1, 1), window, rtol)[0]
    if best.key is None:
        return best
    right = float(window.expected_weights @ item_losses.double().flatten())
    head = f"The reported value is {value:.6g}, the objective is {right:.6g}."
    why = best.sentence.splitlines()[0] if best.setting else "No setting of the dials gives that value."
    return Explanation("wrong-return-value", best.setting, best.factor, f"{head}\n{why}", best.weights)


def explain_blocks(
    blocks: dict[str, tuple[Tensor, Tensor]], window: UpdateWindow, rtol: float = RTOL
) -> list[Explanation]:
    """As `explain_update`, for parameters in named blocks: {name: (update [D_b], item gradients [N, D_b])}.

    Readings that fit every block come back; when there is none, the one entry has the key
    "parameter-groups-differ" and says what each block got.
    """
    readings = {name: explain_update(*block, window, rtol) for name, block in blocks.items()}
    same = lambda a, b: a.key == b.key and a.setting == b.setting and (  # noqa: E731
        a.setting is not None or math.isclose(a.factor, b.factor, rel_tol=10 * rtol))
    first, *others = readings.values()
    common = [e for e in first if all(any(same(e, other) for other in found) for found in others)]
    if common:
        return common
    worst = next(found[0] for found in readings.values() if found[0].key is not None)
    each = "; ".join(f"{name}: {_short(found[0], window)}" for name, found in readings.items())
    return [Explanation("parameter-groups-differ", None, worst.factor,
                        f"The parameters were not all treated alike.\n{each}.", worst.weights)]


def explain_two_terms(
    update: Tensor,
    item_gradients: Tensor,
    window: UpdateWindow,
    term_gradients: Tensor,
    term_window: UpdateWindow,
    rtol: float = RTOL,
) -> list[Explanation]:
    """As `explain_update`, for an objective of two terms, each a mean over a window of its own.

    term_gradients [M, D] are the gradients of the second term with its coefficient, such as one per
    microbatch (`UpdateWindow.from_counts([[1] * K] * P)`). Only plain dials and whole factors are tried.
    "second-term-misweighted": the items are right and the second term is not.
    """
    update = update.detach().double().flatten()
    mains, seconds = plain_readings(window), plain_readings(term_window)
    first, second = (
        torch.stack([weights for _, weights in readings]) @ rows.detach().double().reshape(-1, len(update))
        for readings, rows in ((mains, item_gradients), (seconds, term_gradients)))
    sums = first[:, None] + second[None]
    size = sums.abs().amax(-1).clamp(min=_size(update))
    fits = ((sums - update).abs().amax(-1) <= rtol * size).nonzero().tolist()
    found = []
    for i, j in sorted(fits, key=lambda pair: (min(pair) > 0, sum(pair))):
        (setting, weights), share = mains[i], float(seconds[j][1].sum())
        if i == j == 0:
            return [Explanation(None, RIGHT, 1.0, "Both terms weigh what they should.", weights)]
        key = diagnosis_key(setting, window) if setting else "pure-scale"
        words = "The items weigh what they should." if i == 0 else weights_line(weights, window)
        words += f"\nThe second term as a whole weighed {number(share)} and should weigh 1 " \
                 f"({term_window.item_count} parts)."
        key = key or "second-term-misweighted"
        found.append(Explanation(key, setting, float(weights.sum()), words, weights))
    return found or [_unexplained(window, torch.full_like(window.expected_weights, torch.nan),
                                  "No plain dials of the two terms give this update.")]


def _explain(update: Tensor, rows: Tensor, window: UpdateWindow, rtol: float) -> list[Explanation]:
    expected = window.expected_weights
    unknown = torch.full_like(expected, torch.nan)
    if not update.isfinite().all():
        return [_unexplained(window, unknown, "The update holds a NaN or an infinity.")]
    reference = expected @ rows
    if _close(update, reference, rtol * _size(reference)):
        return [Explanation(None, RIGHT, 1.0, right_sentence(window), expected)]
    if not update.any():
        return [Explanation("no-update", None, 0.0, f"No item weighs anything: the update is zero "
                            f"(N = {window.item_count} items).", torch.zeros_like(expected))]

    settings, table = predictions(window)
    predicted = table @ rows
    error = (predicted - update).abs().amax(1)
    fits = error <= rtol * predicted.abs().amax(1).clamp(min=_size(update))
    found = [_explanation(settings[i], table[i], window) for i in fits.nonzero().flatten().tolist()]
    factor = _pure_scale(update, reference, rows, window, rtol)
    if factor is not None:
        causes = scale_causes(factor, window)
        sentence = with_causes(scale_sentence(factor, window), causes)
        found.append(Explanation("pure-scale", None, factor, sentence, factor * expected, causes=causes))
    found = found or _scaled(update, rows, window, rtol)
    return found or [_unexplained(window, unknown, "No setting of the three dials predicts this update.")]


def _explanation(setting: Setting, weights: Tensor, window: UpdateWindow) -> Explanation:
    key = diagnosis_key(setting, window)
    own_count = setting.divisor == "rank" and key in ("mean-of-rank-means", "sum-of-rank-means")
    aliases = ("local-window-count",) if own_count and max(window.microbatch_counts) > 1 else ()
    if key == "mean-of-rank-means" and 0 not in window.rank_counts:
        aliases += ("active-ranks",)  # where no rank is empty all are active
    if key == "never-divided" and window.world_size == 1:
        aliases += ("divided-by-world-size",)  # by 1
    if key == "never-divided" and max(window.microbatch_counts) <= 1:
        aliases += ("microbatch-count",)  # also 1
    sentence = setting_sentence(setting, weights, window)
    return Explanation(key, setting, float(weights.sum()), sentence, weights, aliases)


def _unexplained(window: UpdateWindow, weights: Tensor, why: str) -> Explanation:
    counts = f"The window has N = {window.item_count} items ({rank_list(window.rank_counts)})."
    return Explanation("unexplained", None, float(weights.sum()), f"{why}\n{counts}", weights)


def _pure_scale(
    update: Tensor, reference: Tensor, rows: Tensor, window: UpdateWindow, rtol: float
) -> float | None:
    """The factor c with update = c · reference, if that says anything.

    When all item gradients are parallel every update is some multiple of the reference; then only a factor
    that has a likely cause counts.
    """
    if not reference.any():
        return None
    factor = float(update @ reference / (reference @ reference))
    if not _close(update, factor * reference, rtol * _size(update)):
        return None
    telling = not _all_parallel(rows, reference) or (len(rows) == 1 and len(update) > 1)
    return factor if telling or len(scale_causes(factor, window)) > 1 else None


def _explain_with_outside(
    update: Tensor, rows: Tensor, outside: Tensor, window: UpdateWindow, rtol: float
) -> list[Explanation]:
    """What the update says once everything along the outside gradients is taken out of it."""
    basis = torch.linalg.qr(outside[outside.norm(dim=1) > 0].T)[0]
    without = lambda x: x - (x @ basis) @ basis.T  # noqa: E731
    reference = window.expected_weights @ rows
    if not without(reference).norm() > RTOL * reference.norm():
        return []
    if float(without(update).norm()) <= rtol * float(update.norm()):
        return [Explanation("window-boundaries", None, 0.0, "All of this update comes from gradients outside its "
                            "window: none of its own items is in it.", torch.zeros_like(window.expected_weights))]
    inner = _explain(without(update), without(rows), window, rtol)[0]
    weights = inner.weights if inner.key != "unexplained" else _solved(update, rows, outside, rtol)
    if weights is None:
        return []
    share = float((update - weights @ rows).norm() / update.norm())
    inside = inner.sentence.splitlines()[-1] if inner.key is None else weights_line(weights, window)
    sentence = f"Gradients from outside this window are in its update ({share:.0%} of its length).\n{inside}"
    return [Explanation("window-boundaries", inner.setting, float(weights.sum()), sentence, weights)]


def _solved(update: Tensor, rows: Tensor, outside: Tensor, rtol: float) -> Tensor | None:
    """The items' weights [N] in an update that is a weighted sum of their and outside gradients, if that is certain."""
    each = torch.cat([rows, outside[outside.norm(dim=1) > 0]])
    if len(each) >= len(update) or torch.linalg.matrix_rank(each, rtol=1e-6) < len(each):
        return None
    weights = torch.linalg.lstsq(each.T, update[:, None]).solution[:, 0]
    weights[weights.abs() * each.norm(dim=1) <= rtol * update.norm()] = 0.0
    fits = _close(update, weights @ each, len(each) * rtol * _size(update))
    return weights[:len(rows)] if fits and weights[len(rows):].any() else None


def _scaled(update: Tensor, rows: Tensor, window: UpdateWindow, rtol: float) -> list[Explanation]:
    """Plain settings that fit up to one factor, such as clipping on top; none when any update would."""
    found = []
    for setting, weights in plain_readings(window)[1:]:
        predicted = weights @ rows
        if setting is None or not predicted.any() or _all_parallel(rows, predicted):
            continue
        factor = float(update @ predicted / (predicted @ predicted))
        if _close(update, factor * predicted, rtol * _size(update)):
            one = _explanation(setting, factor * weights, window)
            on_top = f"{one.sentence} A factor {number(factor)} is on top of all."
            found.append(replace(one, sentence=on_top))
    return found


def _all_parallel(rows: Tensor, direction: Tensor) -> bool:
    unit = direction / direction.norm()
    across = rows - torch.outer(rows @ unit, unit)
    return float(across.abs().max()) <= RTOL * float(rows.abs().max())


def _short(explanation: Explanation, window: UpdateWindow) -> str:
    if explanation.key is None:
        return "right"
    if explanation.weights.isnan().any():
        return "no setting of the dials"
    return weights_line(explanation.weights, window).removeprefix("So ").removesuffix(".")


def _close(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return float((a - b).abs().max()) <= tolerance


def _size(values: Tensor) -> float:
    return float(values.abs().max())
