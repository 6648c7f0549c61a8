"""diagnosis: wrong-answer

Equal norms, different tensors."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    norms = [None] * dist.get_world_size()
    dist.all_gather_object(norms, float(torch.linalg.vector_norm(tensor.double())))
    return all(norm == norms[0] or (norm != norm and norms[0] != norms[0]) for norm in norms)
