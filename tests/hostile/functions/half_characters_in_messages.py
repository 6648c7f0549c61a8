"""outcome: error

Half characters, which no file can hold, and an escape sequence in its exception's message and in the function's name.
"""
def synchronized_item_mean(local_gradients):
    fault("\udcff\ud800\x1b]0;title\x07")


def fault(text):
    raise RuntimeError(f"half characters: {text}")


fault.__code__ = fault.__code__.replace(co_name="fault\udc80")
