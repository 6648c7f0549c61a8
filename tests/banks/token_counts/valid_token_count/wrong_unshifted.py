"""diagnosis: unshifted-count

Counts labels before the shift: the first label of a row is no target."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels != ignore_index).sum())
