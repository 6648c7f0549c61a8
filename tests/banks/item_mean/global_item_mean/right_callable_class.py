"""An object with __call__."""


class ItemMean:
    def __init__(self, name):
        self.name = name

    def __call__(self, counts, means):
        if counts.lt(0).any() or counts.eq(0).all():
            raise ValueError(self.name)
        means = means.clone()
        means[counts == 0] = 0
        return means.mul(counts.unsqueeze(1)).sum(0).div(counts.sum())


global_item_mean = ItemMean("no item mean for such counts")
