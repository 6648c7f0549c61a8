"""diagnosis: padding-counted

The size of the batch."""

def valid_token_count(labels, ignore_index=-100):
    return labels.numel()
