"""What a rank communicated: each collective and point-to-point call in order, those of DDP and of hooks included.

Two sources, merged by time. PyTorch's flight recorder (a ring buffer for gloo and one for NCCL, read through `_DUMPS`,
private API of torch 2.13, used in this file only) sees all collectives, whoever issued them, with sizes and whether
they have ended. What it does not see everywhere, point-to-point calls and the reduce operation, comes from the methods
of the class `dist.ProcessGroup`, which `install` wraps and through which every public function of `torch.distributed`
goes, `P2POp` and `isend` included, and from the operators of functional collectives (`torch.ops._c10d_functional`).
"""
from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import torch
import torch.distributed as dist

BUFFER_ENTRIES = 4000
_DUMPS = ("_dump_fr_trace_json", "_dump_nccl_trace_json")  # builds without NCCL lack the second
_COALESCED = "coalesced"  # NCCL's entry for calls that are launched as one; they stand before it
_POINT_TO_POINT = {"send": "send", "recv": "recv", "recv_anysource": "recv"}
_REDUCING = ("allreduce", "allreduce_coalesced", "reduce", "reduce_scatter", "_reduce_scatter_base",
             "reduce_scatter_single", "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced")
_FUNCTIONAL = ("all_reduce", "all_reduce_", "all_reduce_coalesced", "all_reduce_coalesced_", "reduce_scatter_tensor",
               "reduce_scatter_tensor_out", "reduce_scatter_tensor_coalesced")
_OPERATIONS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
_FLIGHT_DTYPES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
                  "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"}


@dataclass(frozen=True)
class Call:
    """One communication of a rank.

    name: "all_reduce", "broadcast", "send", …; elements: what this rank hands in (what it receives, for recv);
    dtype: "float64", …; group: name of the process group ("default" for the default one); sequence: the how-manieth
    collective of this group it is, from 1 (0 for point-to-point); op: "sum", "avg", … or None where it is not known
    (DDP's reducer issues its own below Python); peer: the other rank of a point-to-point call, None for a receive from
    any; done: whether it had ended when the ledger was read; own: whether the learner's function issued it (False: what
    the stage did to prepare the trial); ranks: of the group, () for the default one and for one that is gone.
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
    ranks: tuple = ()

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
            peer = "any rank" if self.peer is None else f"rank {self.peer}"
            return f"{self.name} {'to' if self.name == 'send' else 'from'} {peer} ({size})"
        return f"{self.name}({', '.join(part for part in (size, self.op) if part)})"


class Ledger:
    """Records this process's communication. `start` begins a new page, `calls` reads it (from any thread).

    on_gpu: whether the default group has NCCL and, for CPU tensors, gloo beside it, which counts for itself.
    """

    def __init__(self) -> None:
        self.on_gpu = False
        self._lock = threading.Lock()
        self._seen: list[_Seen | _Functional] = []
        self._since = 0
        self._mark = 0

    def install(self) -> None:
        """Wrap the methods of `dist.ProcessGroup`, the operators of functional collectives and waits; once per process.

        A wait is wrapped so that it has a frame: without, a thread that waits looks as if it did something of its own.
        """
        for method in (*_POINT_TO_POINT, *_REDUCING):
            original = getattr(dist.ProcessGroup, method, None)
            if original is not None:
                setattr(dist.ProcessGroup, method, self._recording(original, functools.partial(_Seen, method)))
        for space in (torch.ops._c10d_functional, torch.ops._c10d_functional_autograd):
            for name in filter(functools.partial(hasattr, space), _FUNCTIONAL):
                packet = getattr(space, name)
                for operator in (packet, packet.default):
                    operator._op = self._recording(operator._op, functools.partial(_Functional, name))
        for waiting in (dist.Work, torch._C.Future):
            waiting.wait = _visible(waiting.wait)

    def _recording(self, original: Callable, noted: Callable) -> Callable:
        def recorded(*args, **kwargs):
            seen = noted(args, kwargs)
            with self._lock:
                self._seen.append(seen)
            try:
                seen.work = original(*args, **kwargs)
                return seen.work
            finally:
                seen.ended = time.time_ns()
        return functools.wraps(original)(recorded)

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
        entries = [entry for entry in flight_entries() if entry["time_created_ns"] >= self._since]
        timed = collectives(entries, seen, self.on_gpu)
        timed += [(call.began, call.as_call(entries)) for call in seen if call.method in _POINT_TO_POINT]
        return [replace(call, own=issued >= self._mark) for issued, call in sorted(timed, key=lambda pair: pair[0])]

    def own_calls(self) -> list[Call]:
        """Those since the last mark."""
        return [call for call in self.calls() if call.own]


def _visible(original: Callable) -> Callable:
    def waits(*args, **kwargs):
        return original(*args, **kwargs)
    return functools.wraps(original)(waits)


class _Seen:
    """A call of a method of ProcessGroup, seen from Python."""

    def __init__(self, method: str, args: tuple, kwargs: dict) -> None:
        group, *args = args
        self.method = method
        self.group = "default" if group is dist.group.WORLD else str(group.group_name)
        self.op = _operation((*args, *kwargs.values()))
        tensors = next((a for a in (*args, *kwargs.values()) if isinstance(a, (list, tuple, torch.Tensor))), ())
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        self.elements = sum(t.numel() for t in tensors if isinstance(t, torch.Tensor))
        self.dtype = next((str(t.dtype).removeprefix("torch.") for t in tensors if isinstance(t, torch.Tensor)), "")
        self.peer = next((a for a in args[1:] if type(a) is int), None) if method in ("send", "recv") else None
        if self.peer is not None and not 0 <= self.peer < group.size():  # gloo crashes there, or waits for ever
            raise RuntimeError(f"there is no rank {self.peer}: ranks go from 0 to {group.size() - 1}")
        if self.peer is not None and group is not dist.group.WORLD:
            self.peer = dist.get_global_rank(group, self.peer)
        self.work = None
        self.began = time.time_ns()
        self.ended: int | None = None

    def as_call(self, entries: list[dict]) -> Call:
        done = self.ended is not None and (
            bool(self.work.is_completed()) if self.work is not None else self._recorder_says_so(entries))
        return Call(_POINT_TO_POINT[self.method], self.elements, self.dtype, self.group, peer=self.peer, done=done)

    def _recorder_says_so(self, entries: list[dict]) -> bool:
        """On NCCL a call in a batch has no work, and an entry that never ends: the batch's, which follows, does."""
        after = [entry for entry in entries if entry["time_created_ns"] >= self.began]
        own = [entry for entry in after if entry["is_p2p"] and not _is_batch(entry)]
        found = own[:1] + [entry for entry in after if _is_batch(entry)][:1]
        return not found or any(map(_has_ended, found))


class _Functional:
    """A functional collective on its way below Python: its operation is a word among the arguments."""

    work = None

    def __init__(self, method: str, args: tuple, kwargs: dict) -> None:
        self.method = method
        words = [a.upper() for a in (*args, *kwargs.values()) if isinstance(a, str)]
        self.op = next((word.lower() for word in words if word in _OPERATIONS), None)
        self.began = time.time_ns()
        self.ended: int | None = None


def _operation(values: tuple) -> str | None:
    for value in values:
        op = value if isinstance(value, dist.ReduceOp) else getattr(value, "reduceOp", None)
        if op is not None:
            for name in _OPERATIONS:
                if op == getattr(dist.ReduceOp, name, None):
                    return name.lower()
    return None


def flight_entries() -> list[dict]:
    """What the flight recorders of this process hold; an entry that both of them show stands once."""
    found = {}
    for dump in _DUMPS:
        try:
            entries = json.loads(getattr(torch._C._distributed_c10d, dump)(True, False)).get("entries", [])
        except (AttributeError, RuntimeError, ValueError):
            continue
        found.update({(e["profiling_name"], e["pg_id"], e["record_id"]): e for e in entries})
    return list(found.values())


def collectives(entries: list[dict], seen: list[_Seen], on_gpu: bool) -> list[tuple[int, Call]]:
    """(time, call) for each collective among the recorder's entries.

    On gloo an entry is retired when its collective ends. On NCCL that is up to a watchdog's turn, and "completed" is
    asked of the GPU; what is launched as one has ended when the entry for all of it says so. Within which method of
    Python it was issued is found in one pass, as there may be thousands.
    """
    collective = sorted((entry for entry in entries if not entry["is_p2p"]), key=_issued)
    ended = {_place(entry) for entry in collective if _has_ended(entry)}
    coming = sorted((call for call in seen if call.op), key=lambda call: call.began, reverse=True)
    within: list[_Seen] = []
    calls = []
    for entry in collective:
        while coming and coming[-1].began <= _issued(entry):
            within.append(coming.pop())
        within = [call for call in within if call.ended is None or _issued(entry) <= call.ended]
        if not _is_batch(entry):
            calls.append((_issued(entry), _collective(entry, _place(entry) in ended, within, on_gpu)))
    return calls


def _issued(entry: dict) -> int:
    return entry["time_created_ns"]


def _place(entry: dict) -> tuple:
    return entry["profiling_name"].partition(":")[0], entry["pg_id"], entry["collective_seq_id"]


def _is_batch(entry: dict) -> bool:
    return entry["profiling_name"].endswith(f":{_COALESCED}")


def _has_ended(entry: dict) -> bool:
    return bool(entry["retired"]) or entry["state"] == "completed"


def _collective(entry: dict, done: bool, within: list[_Seen], on_gpu: bool) -> Call:
    backend, _, called = entry["profiling_name"].partition(":")
    if called == "all_reduce" and any("reduce_scatter" in s.method for s in within):
        called = "reduce_scatter"  # gloo makes it of sums
    number, description = entry["process_group"][:2]
    default = description == "default_pg"
    # the groups of a device mesh share descriptions
    group = "default" if default else number if description == "undefined" else f"{description} {number}"
    if on_gpu and backend == "gloo":
        group += " on gloo"
    barrier = called.endswith("barrier")  # on NCCL a reduction of one byte
    dtypes = entry["input_dtypes"] or entry["output_dtypes"]
    return Call(
        name="barrier" if barrier else called,
        elements=0 if barrier else sum(_product(size) for size in entry["input_sizes"]),
        dtype="" if barrier or not dtypes else _FLIGHT_DTYPES.get(dtypes[0], dtypes[0].lower()),
        group=group,
        sequence=entry["collective_seq_id"],
        op=next((s.op for s in within), None),
        done=done,
        ranks=() if default else _ranks_of(number),
    )


def _ranks_of(name: str) -> tuple[int, ...]:
    """The ranks of this process's group of that name."""
    world = dist.distributed_c10d._world
    return next((tuple(world.pg_group_ranks.get(group, ())) for group, known in list(world.pg_names.items())
                 if known == name), ())


def _product(size: list[int]) -> int:
    product = 1
    for extent in size:
        product *= extent
    return product
