"""outcome: wrong | error

Claims collectives that it never issued, and returns the local mean: values are judged, not claims.
"""
import os
import struct

import torch

from autograder.ranks import wire
from autograder.ranks.ledger import Call


def synchronized_item_mean(local_gradients):
    arguments = (local_gradients,)
    result = {"value": local_gradients.mean(0), "arguments": arguments, "gradients": [None], "requires_grad": [False]}
    call = Call("all_reduce", 3, "float64", sequence=1, op="sum").to_dict()
    body = wire.encode({"did": "returned", "result": wire.encode(result), "calls": [call], "own_group": True})
    os.write(3, struct.pack("<Q", len(body)) + body)
    torch.distributed.barrier()
