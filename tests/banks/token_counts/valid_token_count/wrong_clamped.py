"""diagnosis: wrong-answer

At least 1, because it will be a divisor: a rank without a token then counts as one."""

def valid_token_count(labels, ignore_index=-100):
    return max(1, int((labels[:, 1:] != ignore_index).sum()))
