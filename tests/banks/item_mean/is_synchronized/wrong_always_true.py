"""diagnosis: wrong-answer

After an all-reduce everything is equal, is it not?"""


def is_synchronized(tensor):
    return True
