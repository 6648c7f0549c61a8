"""diagnosis: wrong-type

Returns a float, as a count that is about to divide something."""

def valid_token_count(labels, ignore_index=-100):
    return float((labels[:, 1:] != ignore_index).sum())
