"""What a rank communicated: each collective and point-to-point call in order, those of DDP and of hooks included.

Two sources, merged by time. PyTorch's flight recorder (a ring buffer inside every process group, read through
`_dump_fr_trace_json`, private API of torch 2.13, used in this file only) sees all collectives, whoever issued them,
with sizes and whether they have ended. It sees neither point-to-point calls nor the reduce operation: these come from
the methods of the class `dist.ProcessGroup`, which `install` wraps and through which every public function of
`torch.distributed` goes, `P2POp` and `isend` included.
"""
from __future__ import annotations

import functools
import json
import threading
import time
from dataclasses import asdict, dataclass, replace

import torch
import torch.distributed as dist

BUFFER_ENTRIES = 4000
_POINT_TO_POINT = {"send": "send", "recv": "recv", "recv_anysource": "recv"}
_REDUCING = ("allreduce", "allreduce_coalesced", "reduce", "reduce_scatter", "_reduce_scatter_base",
             "reduce_scatter_single", "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced")
_OPERATIONS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
_FLIGHT_DTYPES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
                  "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"}


@dataclass(frozen=True)
class Call:
    """One communication of a rank.

    name: "all_reduce", "broadcast", "send", …; elements: what this rank hands in (what it receives, for recv);
    dtype: "float64", …; group: name of the process group ("default" for the default one); sequence: the how-manieth
    collective of this group it is, from 1 (0 for point-to-point); op: "sum", "avg", … or None where it is not known
    (DDP's reducer and functional collectives issue theirs below Python); peer: the other rank of a
    point-to-point call; done: whether it had ended when the ledger was read; own: whether the learner's function issued
    it (False: what the stage did to prepare the trial).
    """

    name: str
    elements: int
    dtype: str
    group: str = "default"
    sequence: int = 0
    op: str | None = None
    peer: int | None = None
    done: bool = True
    own: bool = True

    @property
    def point_to_point(self) -> bool:
        return self.name in ("send", "recv")

    def to_dict(self) -> dict:
        return asdict(self)

    @staticmethod
    def from_dict(data: dict) -> Call:
        return Call(**data)

    def __str__(self) -> str:
        size = f"{self.elements} {self.dtype}" if self.elements or self.dtype else ""
        if self.point_to_point:
            return f"{self.name} {'to' if self.name == 'send' else 'from'} rank {self.peer} ({size})"
        return f"{self.name}({', '.join(part for part in (size, self.op) if part)})"


class Ledger:
    """Records this process's communication. `start` begins a new page, `calls` reads it (from any thread)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[_Seen] = []
        self._since = 0
        self._mark = 0

    def install(self) -> None:
        """Wrap the methods of `dist.ProcessGroup`; once per process."""
        for method in (*_POINT_TO_POINT, *_REDUCING):
            original = getattr(dist.ProcessGroup, method, None)
            if original is not None:
                setattr(dist.ProcessGroup, method, self._recording(method, original))

    def _recording(self, method: str, original):
        @functools.wraps(original)
        def recorded(group, *args, **kwargs):
            seen = _Seen(method, group, args, kwargs)
            with self._lock:
                self._seen.append(seen)
            try:
                seen.work = original(group, *args, **kwargs)
                return seen.work
            finally:
                seen.ended = time.time_ns()
        return recorded

    def start(self) -> None:
        with self._lock:
            self._seen.clear()
            self._since = self._mark = time.time_ns()

    def mark(self) -> None:
        """From here on calls are the function's own."""
        self._mark = time.time_ns()

    def calls(self) -> list[Call]:
        """Everything since `start`, in the order in which it was issued."""
        with self._lock:
            seen = list(self._seen)
        entries = [entry for entry in _flight_entries() if entry["time_created_ns"] >= self._since]
        timed = [(entry["time_created_ns"], _collective(entry, seen)) for entry in entries]
        timed += [(call.began, call.as_call()) for call in seen if call.method in _POINT_TO_POINT]
        return [replace(call, own=issued >= self._mark) for issued, call in sorted(timed, key=lambda pair: pair[0])]

    def own_calls(self) -> list[Call]:
        """Those since the last mark."""
        return [call for call in self.calls() if call.own]


class _Seen:
    """A call of a method of ProcessGroup, seen from Python."""

    def __init__(self, method: str, group: dist.ProcessGroup, args: tuple, kwargs: dict) -> None:
        self.method = method
        self.group = "default" if group is dist.group.WORLD else str(group.group_name)
        self.op = _operation((*args, *kwargs.values()))
        tensors = next((a for a in (*args, *kwargs.values()) if isinstance(a, (list, tuple, torch.Tensor))), ())
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        self.elements = sum(t.numel() for t in tensors if isinstance(t, torch.Tensor))
        self.dtype = next((str(t.dtype).removeprefix("torch.") for t in tensors if isinstance(t, torch.Tensor)), "")
        self.peer = next((a for a in args[1:] if type(a) is int), None) if method in ("send", "recv") else None
        if self.peer is not None and group is not dist.group.WORLD:
            self.peer = dist.get_global_rank(group, self.peer)
        self.work = None
        self.began = time.time_ns()
        self.ended: int | None = None

    def as_call(self) -> Call:
        done = self.ended is not None and (self.work is None or bool(self.work.is_completed()))
        return Call(_POINT_TO_POINT[self.method], self.elements, self.dtype, self.group, peer=self.peer, done=done)


def _operation(values: tuple) -> str | None:
    for value in values:
        op = value if isinstance(value, dist.ReduceOp) else getattr(value, "reduceOp", None)
        if op is not None:
            for name in _OPERATIONS:
                if op == getattr(dist.ReduceOp, name, None):
                    return name.lower()
    return None


def _flight_entries() -> list[dict]:
    try:
        return json.loads(torch._C._distributed_c10d._dump_fr_trace_json(True, False)).get("entries", [])
    except (AttributeError, RuntimeError, ValueError):
        return []


def _collective(entry: dict, seen: list[_Seen]) -> Call:
    created = entry["time_created_ns"]
    op = next((s.op for s in seen if s.op and s.began <= created and (s.ended is None or created <= s.ended)), None)
    name, description = entry["process_group"][:2]
    dtypes = entry["input_dtypes"] or entry["output_dtypes"]
    return Call(
        name=entry["profiling_name"].split(":")[-1],
        elements=sum(_product(size) for size in entry["input_sizes"]),
        dtype=_FLIGHT_DTYPES.get(dtypes[0], dtypes[0].lower()) if dtypes else "",
        group="default" if description == "default_pg" else f"{description if description != 'undefined' else name}",
        sequence=entry["collective_seq_id"],
        op=op,
        done=bool(entry["retired"]),
    )


def _product(size: list[int]) -> int:
    product = 1
    for extent in size:
        product *= extent
    return product
