"""diagnosis: not-implemented

The stub as it is handed out: no time is computed.
"""


def ring_time(num_bytes: int, world_size: int, startup: float, bandwidth: float) -> float:
    """Return the ideal time in seconds."""
    raise NotImplementedError()
