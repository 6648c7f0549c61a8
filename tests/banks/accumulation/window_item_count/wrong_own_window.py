"""diagnosis: local-window-count

Each rank counts its own window: the half repair of 2024."""



def window_item_count(microbatch_counts):
    return sum(microbatch_counts)
