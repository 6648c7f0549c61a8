"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

The right answers, unchanged otherwise.
"""
ANSWERS = {}
