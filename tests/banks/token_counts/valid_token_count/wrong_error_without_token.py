"""diagnosis: unneeded-error

Raises when there is nothing to count; 0 is a count."""

def valid_token_count(labels, ignore_index=-100):
    count = int((labels[:, 1:] != ignore_index).sum())
    if count == 0:
        raise ValueError("no valid token")
    return count
