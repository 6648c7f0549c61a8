"""outcome: synchronized_item_mean=right, is_equivalent=limit, item_mean_q1=right

A cell that does not end is stopped; the next ones run.
"""
ANSWERS = {"is_equivalent": """while True:
    pass


def is_equivalent(reference, update, rtol=1e-6):
    return True"""}
