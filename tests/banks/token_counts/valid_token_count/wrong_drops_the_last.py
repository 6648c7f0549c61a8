"""diagnosis: wrong-shift

Leaves out the last label of each row: those are the positions that predict, not the targets."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, :-1] != ignore_index).sum())
