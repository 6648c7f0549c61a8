"""diagnosis: padding-counted

Compares with -100, whatever ignore_index says."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, 1:] != -100).sum())
