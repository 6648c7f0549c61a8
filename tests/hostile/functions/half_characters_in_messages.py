"""outcome: error

Half characters, which no file can hold, in the type, the message and the line of its exception.
"""
def synchronized_item_mean(local_gradients):
    raise fault("\udcff\ud800\x1b]0;title\x07")


def fault(text):
    raise type(f"Error{text}", (Exception,), {})(text)


fault.__code__ = fault.__code__.replace(co_name="fault\udc80")
