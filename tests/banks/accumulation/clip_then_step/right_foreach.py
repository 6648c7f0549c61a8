"""The foreach functions that clip_grad_norm_ is made of."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    module, count = ddp_model.module, sum(len(x) for x, _ in microbatches)
    sums = [torch.zeros_like(p) for p in module.parameters()]
    for inputs, targets in microbatches:
        outputs = module(inputs)
        torch._foreach_add_(sums, torch.autograd.grad(outputs, list(module.parameters()), outputs.detach() - targets))
    total = torch.tensor([count])
    works = [dist.all_reduce(tensor, async_op=True) for tensor in (total, *sums)]
    for work in works:
        work.wait()
    if not total:
        raise ValueError("no item")
    torch._foreach_div_(sums, total.item())
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(sums)))
    torch._foreach_mul_(sums, min(1.0, max_norm / norm.item()))
    for p, gradient in zip(module.parameters(), sums, strict=True):
        p.grad = gradient
    optimizer.step()
    return norm.item()
