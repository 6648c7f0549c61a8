"""Labels that count, without the first of each row."""

def valid_token_count(labels, ignore_index=-100):
    valid = labels != ignore_index
    return int(valid.sum()) - int(valid[:, 0].sum())
