"""diagnosis: wrong-type

Lists of numbers."""


def synchronized_but_wrong():
    return [2, 6], [[1.0], [3.0]]
