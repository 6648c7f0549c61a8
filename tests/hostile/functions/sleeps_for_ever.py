"""outcome: limit

Sleeps for a week, which no limit of CPU time notices.
"""
import time


def synchronized_item_mean(local_gradients):
    time.sleep(7 * 86_400)
