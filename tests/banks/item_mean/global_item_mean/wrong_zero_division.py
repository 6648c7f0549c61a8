"""diagnosis: wrong-exception

Leaves the error to Python: ZeroDivisionError is no ValueError."""


def global_item_mean(counts, means):
    if min(counts.tolist()) < 0:
        raise ValueError("negative")
    share = [n / sum(counts.tolist()) for n in counts.tolist()]
    return sum(s * m for s, m in zip(share, means, strict=True) if s)
