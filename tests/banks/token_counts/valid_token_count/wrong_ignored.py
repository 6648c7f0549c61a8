"""diagnosis: wrong-answer

Counts the ignored targets: the comparison is the wrong way round."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, 1:] == ignore_index).sum())
