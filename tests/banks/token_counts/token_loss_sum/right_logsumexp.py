"""The log of the normaliser minus the logit of the target, valid pairs only."""

def token_loss_sum(logits, labels, ignore_index=-100):
    rows, places = (labels[:, 1:] != ignore_index).nonzero(as_tuple=True)
    chosen = logits[rows, places]
    target_logits = chosen.gather(1, labels[rows, places + 1].long()[:, None])[:, 0]
    return (chosen.logsumexp(-1) - target_logits).sum()
