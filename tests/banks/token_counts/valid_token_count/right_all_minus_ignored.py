"""All target places without the ignored ones."""

def valid_token_count(labels, ignore_index=-100):
    targets = labels[:, 1:]
    return targets.numel() - int(targets.eq(ignore_index).sum())
