"""An instance with __call__ and a group of its own."""

import torch
import torch.distributed as dist


class Checker:
    def __call__(self, tensor):
        group = dist.new_group()
        first = tensor.clone()
        dist.broadcast(first, src=0, group=group)
        bad = torch.tensor(0 if torch.equal(first, tensor) else self.differs(first, tensor))
        dist.all_reduce(bad, op=dist.ReduceOp.MAX, group=group)
        return not bad.item()

    def differs(self, a, b):
        return int(((a != b) & ~(a.isnan() & b.isnan())).any())


is_synchronized = Checker()
