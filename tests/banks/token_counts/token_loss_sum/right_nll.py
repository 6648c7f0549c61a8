"""nll_loss on log-probabilities."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    log_p = F.log_softmax(logits[:, :-1], dim=-1)
    return F.nll_loss(log_p.reshape(-1, log_p.shape[-1]), labels[:, 1:].reshape(-1), reduction="sum",
                      ignore_index=ignore_index)
