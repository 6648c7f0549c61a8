"""diagnosis: nan-or-inf

The right formula, but 0 · NaN is NaN: one empty rank poisons all."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    return (counts[:, None] * means).sum(0) / counts.sum()
