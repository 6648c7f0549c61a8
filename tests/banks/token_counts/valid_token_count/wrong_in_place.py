"""diagnosis: changed-its-argument

Shifts the caller's labels in place on the way."""

def valid_token_count(labels, ignore_index=-100):
    labels[:, 0] = ignore_index
    return int((labels != ignore_index).sum())
