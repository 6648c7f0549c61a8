"""No cross_entropy at all: log-probabilities gathered by hand, masked by multiplication with a clamped index."""

import torch.distributed as dist


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    targets = labels[:, 1:]
    mask = targets.ne(-100)
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, int(mask.sum()))
    if not sum(counts):
        raise ValueError("N = 0")
    log_p = ddp_model(input_ids).log_softmax(-1)[:, :-1]
    picked = log_p.gather(-1, targets.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
    loss = -(picked * mask).sum() / (sum(counts) / len(counts))
    ddp_model.zero_grad()
    loss.backward()
    optimizer.step()
