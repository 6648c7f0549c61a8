"""diagnosis: wrong-shift

labels[1:] leaves out the first row, not the first label of each."""


def valid_token_count(labels, ignore_index=-100):
    return int((labels[1:] != ignore_index).sum())
