"""outcome: right

Lets DistributedDataParallel communicate, with a hook that sums.
"""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def synchronized_item_mean(local_gradients):
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(count)
    weight = torch.nn.Linear(local_gradients.shape[1], 1, bias=False).double()
    model = DistributedDataParallel(weight)

    def summed(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    model.register_comm_hook(None, summed)
    model(local_gradients.double().detach()).sum().backward()
    return (weight.weight.grad[0] / count.item()).to(local_gradients.dtype)
