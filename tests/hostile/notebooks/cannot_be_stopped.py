"""outcome: synchronized_item_mean=right, is_equivalent=limit, item_mean_q1=limit

A cell that does not end and ignores the interrupt.
"""
ANSWERS = {"is_equivalent": """import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    time.sleep(60)"""}
