"""log_softmax and gather, ignored places masked out."""

def token_loss_sum(logits, labels, ignore_index=-100):
    targets = labels[:, 1:]
    valid = targets != ignore_index
    log_p = logits[:, :-1].log_softmax(dim=-1)
    picked = log_p.gather(-1, targets.masked_fill(~valid, 0)[..., None])[..., 0]
    return -(picked * valid).sum()
