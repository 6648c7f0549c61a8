"""What a setting, weights or a factor are in words, with the numbers of the window."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from autograder.dials.settings import DIVISORS, ITEMS, KEPT, MICROBATCHES, RANKS, Setting, sequence_facts
from autograder.dials.words import items_words, number, ranks_words, told_apart
from autograder.window import UpdateWindow


def setting_sentence(setting: Setting, weights: Tensor, window: UpdateWindow) -> str:
    """Two lines: what was divided, combined or lost, and what the items weighed for it."""
    parts = [DIVISORS[setting.divisor].phrase(window)]
    if max(window.microbatch_counts) <= 1 and setting.microbatches in ("sum", "mean"):
        parts.append("there was one microbatch (K = 1)")
    else:
        parts.append(MICROBATCHES[setting.microbatches].phrase(window))
    one_rank = window.world_size == 1 and setting.ranks in ("sum", "mean")
    parts.append("there was one rank (P = 1)" if one_rank else RANKS[setting.ranks].phrase(window))
    line = f"{parts[0]}, {parts[1]} and {parts[2]}."
    before = [ITEMS[setting.items].phrase(window), KEPT[setting.kept].phrase(window)]
    if setting.lost_ranks:
        before.append(f"the gradients of {ranks_words(setting.lost_ranks)} never arrived")
    before = "; ".join(words for words in before if words)
    line = f"{before}: {line}" if before else line
    return f"{line[0].upper()}{line[1:]}\n{weights_line(weights, window)}"


def weights_line(weights: Tensor, window: UpdateWindow) -> str:
    """What the most and the least favoured item weighed, and what they should."""
    expected = window.expected_weights
    ratio = torch.where(expected > 0, weights / expected, torch.where(weights > 0, torch.inf, 1.0))
    most, least = int(ratio.argmax()), int(ratio.argmin())
    even = float((expected - expected[0]).abs().max()) <= 1e-9 * float(expected.max())
    if float(ratio[most] - ratio[least]) <= 1e-9 * abs(float(ratio[most])):
        if even:
            return f"So every item weighed {number(weights[0])}; it should weigh {number(expected[0])}."
        some = int(expected.argmax())
        return (f"So every item weighed {number(ratio[some])} times what it should: {_item(some, window)} "
                f"weighed {number(weights[some])} in place of {number(expected[some])}.")
    first, second = sorted((most, least))
    by_microbatch = any(  # within a rank the weights are not in proportion
        float(ratio[window.item_ranks == window.item_ranks[i]].var(correction=0)) > 1e-18 for i in (first, second))
    names = [_item(i, window, by_microbatch) for i in (first, second)]
    if names[0] == names[1]:
        names = [f"item {i} of the window" for i in (first, second)]
    if even:
        return (f"So {names[0]} weighed {number(weights[first])} and {names[1]} {number(weights[second])}; "
                f"each should weigh {number(expected[first])}.")
    return "So " + " and ".join(
        f"{name} weighed {number(weights[i])} (it should weigh {number(expected[i])})"
        for name, i in zip(names, (first, second), strict=True)) + "."


def _item(index: int, window: UpdateWindow, by_microbatch: bool = False) -> str:
    r, k = int(window.item_ranks[index]), int(window.item_microbatches[index])
    if by_microbatch and max(window.microbatch_counts) > 1:
        name = f"an item of rank {r}, microbatch {k}"
        count, group = window.counts[r][k], window.item_groups == window.item_groups[index]
    else:
        name = f"an item of rank {r}"
        count, group = window.rank_counts[r], window.item_ranks == r
    if window.is_weighted:
        own, total = window.item_weights[index], window.item_weights[group].sum()
        name += f" (sample weight {number(own)} of {number(total)})"
    else:
        name += f" ({items_words(count)})"
    if window.sequence is not None and by_microbatch:
        length = int(sequence_facts("window", window)[0][index])
        name += f" in a sequence of {length}"
    return name


def right_sentence(window: UpdateWindow) -> str:
    if window.is_weighted:
        return f"Every item weighs its sample weight over W = {number(window.weight_sum)}, as it should."
    if bool((window.item_copies > 1).any()):
        return "Every example has the same weight, whether it occurs once or more often."
    each = number(window.expected_weights[0])
    return f"Every item weighs {each}, as it should (N = {window.item_count})."


def scale_sentence(factor: float, window: UpdateWindow) -> str:
    """That all weights are off by one factor."""
    expected = window.expected_weights
    some = int(expected.argmax())
    which = "Every item" if float(expected.min()) == float(expected.max()) else "The heaviest item"
    got, due = told_apart(factor * expected[some], expected[some])
    return (f"{which} weighed {got} where {due} is right: "
            f"the direction is right, the size is {number(factor)} times what it should be.")


Causes = tuple[tuple[str, str], ...]  # (name, words); the name is "" for what can always be said


def with_causes(sentence: str, causes: Causes) -> str:
    """The sentence and a line with its causes: what can always be said only where nothing else can."""
    words = list(dict.fromkeys(words for name, words in causes if name))
    words = words or [words for _, words in causes]
    return f"{sentence}\nLikely cause: {', or '.join(words[:1] + words[1:][-1:])}."


def scale_causes(factor: float, window: UpdateWindow) -> Causes:
    """What makes every weight `factor` times too large; the last one has no name and says only what the factor is."""
    p, k, n = window.world_size, max(window.microbatch_counts), window.weight_sum
    causes = [(float(p), "P", f"a factor P = {p} once too often, or ranks added where they are averaged"),
              (1 / p, "1/P", f"a division by P = {p} once too often"),
              (float(k), "K", f"K = {k} microbatches added where they are averaged"),
              (1 / k, "1/K", f"a division by K = {k} once too often"),
              (float(p * k), "PK", f"neither P nor K divided (P·K = {p * k})"),
              (1 / (p * k), "1/PK", f"a division by P·K = {p * k} on top"),
              (n, "N", f"no division by {number(n)}"), (1 / n, "1/N", f"a division by {number(n)} once too often"),
              (2.0, "2", "a lost ½ in the loss"), (0.5, "1/2", "a ½ too many in the loss"),
              (-1.0, "-1", "the sign of the loss"), (-2.0, "-2", "the sign of the loss and a lost ½")]
    always = "a factor on the loss or on the learning rate"
    if factor > 0:
        whole, right = told_apart(window.weight_sum / factor, window.weight_sum)
        always = f"a divisor of {whole} in place of {right}, or " + ("clipping" if factor < 1 else always)
    fitting = [(name, words) for value, name, words in causes
               if value != 1 and math.isclose(factor, value, rel_tol=1e-4)]
    return (*fitting, ("", always))
