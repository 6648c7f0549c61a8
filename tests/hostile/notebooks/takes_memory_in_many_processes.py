"""outcome: synchronized_item_mean=right, is_equivalent=limit, item_mean_q1=limit

Several processes, each within the limit of one, together hold too much.
"""
ANSWERS = {"is_equivalent": """import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(os.urandom(2**20) * 1024)
        time.sleep(60)
time.sleep(6)"""}
