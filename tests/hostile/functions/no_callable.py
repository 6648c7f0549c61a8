"""outcome: error

Binds the name to a number.
"""
synchronized_item_mean = 0.375
