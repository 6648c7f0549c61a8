"""outcome: wrong

Claims collectives that it never issued, and returns the local mean: values are judged, not claims.
"""
import os
import struct

import torch

from autograder.ranks import wire


def synchronized_item_mean(local_gradients):
    arguments = (local_gradients,)
    result = {"value": local_gradients.mean(0), "arguments": arguments, "gradients": [None], "requires_grad": [False]}
    call = {"name": "all_reduce", "elements": 3, "dtype": "float64", "group": "default", "sequence": 1, "op": "sum",
            "peer": None, "done": True}
    body = wire.encode({"did": "returned", "result": wire.encode(result), "calls": [call], "own_group": True})
    os.write(3, struct.pack("<Q", len(body)) + body)
    torch.distributed.barrier()
