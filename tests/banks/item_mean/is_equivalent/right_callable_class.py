"""An instance with __call__."""

import torch


class Equivalent:
    default = 1e-6

    def __call__(self, reference, update, rtol=default):
        same_shape = reference.shape == update.shape
        return same_shape and self.finite(reference, update) and self.close(reference, update, rtol)

    def finite(self, *tensors):
        return all(bool(torch.isfinite(t).all()) for t in tensors)

    def close(self, reference, update, rtol):
        unit = reference.abs().max()
        if not unit:
            return not update.any().item()
        off, size = ((update - reference) / unit).flatten(), (reference / unit).flatten()
        return bool(off.dot(off).sqrt() <= rtol * size.dot(size).sqrt())


is_equivalent = Equivalent()
