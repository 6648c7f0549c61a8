"""Two phases, each all chunks but one; 0 for one rank or an empty payload first."""


def ring_bytes(num_bytes, world_size):
    if world_size < 1 or num_bytes < 0:
        raise ValueError("no such ring")
    if world_size == 1 or num_bytes == 0:
        return 0
    phase = num_bytes - num_bytes / world_size
    return phase + phase
