"""outcome: synchronized_item_mean=right, is_equivalent=error, item_mean_q1=right

The function holds on to a thread lock and to an object whose pickling fails.
"""
ANSWERS = {"is_equivalent": """import threading
class No:
    lock = threading.Lock()
    def __reduce__(self):
        raise RuntimeError("no")
kept = No()
def is_equivalent(reference, update, rtol=1e-6):
    return kept is None"""}
