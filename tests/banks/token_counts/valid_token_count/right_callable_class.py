"""A callable object."""

class Count:
    def __call__(self, labels, ignore_index=-100):
        return len((labels[:, 1:] != ignore_index).nonzero())


valid_token_count = Count()
