"""diagnosis: padding-counted

Every target place, ignored ones counted: the shape is no count."""

def valid_token_count(labels, ignore_index=-100):
    return labels[:, 1:].numel()
