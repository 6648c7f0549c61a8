"""outcome: synchronized_item_mean=right, is_equivalent=limit, item_mean_q1=limit

Fills memory that processes share, each of which has let go of it but one that sleeps.
"""
ANSWERS = {"is_equivalent": """import mmap, os, time
for _ in range(5):
    held = mmap.mmap(-1, 900 * 2**20, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    held.close()
time.sleep(60)"""}
