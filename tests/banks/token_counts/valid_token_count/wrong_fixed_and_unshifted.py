"""diagnosis: unshifted-count | padding-counted

Both at once: -100 is written down, and nothing is shifted. Where it matters most first: before the shift."""

def valid_token_count(labels, ignore_index=-100):
    return int((labels != -100).sum())
