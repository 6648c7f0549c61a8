"""diagnosis: not-implemented

The stub as it is handed out."""


def synchronized_but_wrong():
    raise NotImplementedError()
