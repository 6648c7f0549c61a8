"""diagnosis: raised

Looks at row 0, which an empty batch does not have."""

def valid_token_count(labels, ignore_index=-100):
    valid = labels[:, 1:] != ignore_index
    return int(valid[0].sum()) + int(valid[1:].sum())
