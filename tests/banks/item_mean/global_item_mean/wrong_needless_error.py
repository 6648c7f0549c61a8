"""diagnosis: unneeded-error

Refuses any empty rank, though the others have an answer."""


def global_item_mean(counts, means):
    if (counts < 1).any():
        raise ValueError("every rank needs an item")
    return (counts[:, None] * means).sum(0) / counts.sum()
