"""outcome: wrong | error | limit

Starts 200 processes on each rank and leaves them.
"""
import subprocess


def synchronized_item_mean(local_gradients):
    children = []
    try:
        for _ in range(200):
            children.append(subprocess.Popen(["sleep", "1000"], start_new_session=True))
    except OSError:
        pass
    return local_gradients.mean(0) + len(children)
