"""outcome: synchronized_item_mean=right, is_equivalent=limit, item_mean_q1=limit | right

Several processes, each within the limit of one, together hold too much.
"""
ANSWERS = {"is_equivalent": """import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(b"x") * (900 * 2**20)
        time.sleep(60)
        os._exit(0)
time.sleep(60)"""}
