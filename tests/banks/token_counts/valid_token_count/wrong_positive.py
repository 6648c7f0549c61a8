"""diagnosis: wrong-answer | padding-counted

Counts targets above 0: the token 0 is lost, and an ignored token id above 0 counts."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, 1:] > 0).sum())
