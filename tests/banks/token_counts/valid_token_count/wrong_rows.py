"""diagnosis: wrong-answer

Counts rows with a target: sequences, not tokens."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, 1:] != ignore_index).any(dim=1).sum())
