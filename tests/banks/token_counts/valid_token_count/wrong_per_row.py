"""diagnosis: wrong-type

One count for each row: nobody asked for sequences."""

def valid_token_count(labels, ignore_index=-100):
    return (labels[:, 1:] != ignore_index).sum(dim=1).tolist()
