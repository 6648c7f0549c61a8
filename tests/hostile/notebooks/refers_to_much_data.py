"""outcome: synchronized_item_mean=right, is_equivalent=error, item_mean_q1=right

A function with more data than a frame may hold: it cannot travel, and what follows counts.
"""
ANSWERS = {"is_equivalent": """data = b"x" * 2**29
def is_equivalent(*args):
    return bool(data)"""}
