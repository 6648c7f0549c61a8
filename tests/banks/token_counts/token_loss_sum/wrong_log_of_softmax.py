"""diagnosis: nan-or-inf

log(softmax(x)) is −inf where a probability underflows; log_softmax is not."""

def token_loss_sum(logits, labels, ignore_index=-100):
    targets = labels[:, 1:]
    valid = targets != ignore_index
    log_p = logits[:, :-1].softmax(dim=-1).log()
    return -log_p.gather(-1, targets.masked_fill(~valid, 0)[..., None])[..., 0][valid].sum()
