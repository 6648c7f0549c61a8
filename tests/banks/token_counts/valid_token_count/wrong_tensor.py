"""diagnosis: wrong-type

Returns a tensor, since it forgot to take the number out."""

def valid_token_count(labels, ignore_index=-100):
    return (labels[:, 1:] != ignore_index).sum()
