"""A mask over the targets, summed."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, 1:] != ignore_index).sum())
