"""The life of one rank: read orders from its channel, join process groups, run stages, answer where it stands.

The main thread runs the learner's function. A second thread reads the channel, so that a rank which waits in a
collective can still be asked where; orders for the main thread go through a queue. When the channel closes, the
process ends: no rank outlives its launch. Orders and answers are frames (`wire.py`); the function itself comes
cloudpickled, from the person who launches.
"""
from __future__ import annotations

import importlib
import os
import queue
import random
import socket
import sys
import sysconfig
import threading
import time
import traceback
import warnings
from datetime import timedelta
from types import FrameType

import torch
import torch.distributed as dist

from autograder.ranks import device, ledger, wire

_FOREIGN = tuple(os.path.realpath(path) + os.sep for path in {
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(torch.__file__),
    sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
# Where the innermost frame of a thread is that waits in a call: the last two wrap such calls.
_COMMUNICATION = (os.path.dirname(dist.__file__) + os.sep, ledger.__file__, device.__file__)
_IDLE = (*_COMMUNICATION, sysconfig.get_path("stdlib") + os.sep)
_LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
_RECORDER_LAG_MS = 10
_COLLECTIVE_TIMEOUT = timedelta(hours=2)


def main(channel: socket.socket, rank: int) -> None:
    """Serve orders on `channel` until it closes. Never returns."""
    os.environ.update({"GLOO_SOCKET_IFNAME": _LOOPBACK, "NCCL_SOCKET_IFNAME": f"={_LOOPBACK}",
                       "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING": "0",
                       "TORCH_FR_BUFFER_SIZE": str(ledger.BUFFER_ENTRIES), "RANK": str(rank), "LOCAL_RANK": str(rank)})
    torch.set_num_threads(1)
    life = _Rank(channel, rank)
    threading.Thread(target=life.listen, name="orders", daemon=True).start()
    life.work()


class _Rank:
    def __init__(self, channel: socket.socket, rank: int) -> None:
        self.channel = channel
        self.rank = rank
        self.orders: queue.SimpleQueue[dict] = queue.SimpleQueue()
        self.writing = threading.Lock()
        self.main_thread = threading.main_thread().ident
        self.ledger = ledger.Ledger()
        self.ledger.install()
        self.function = None
        self.group = None
        self.device = torch.device("cpu")

    def listen(self) -> None:
        while (body := wire.receive(self.channel)) is not None:
            order = wire.decode(body)
            if order["do"] == "where":
                self.answer("where", **self.where())
            else:
                self.orders.put(order)
        os._exit(0)

    def work(self) -> None:
        while True:
            order = self.orders.get()
            try:
                getattr(self, order.pop("do"))(**order)
            except BaseException as error:
                collected = wire.encode(wire.portable(getattr(error, "collected", None)))
                self.answer("raised", error=describe_error(error), result=collected,
                            calls=self._calls_at_the_end(), own_group=self._owns_group())

    def answer(self, did: str, **content: object) -> None:
        body = wire.encode({"did": did, **content})
        with self.writing:
            wire.send(self.channel, body)

    def load(self, function: bytes, path: list[str], directory: str, gpus: str | None) -> None:
        """Take the learner's function, with the module path and working directory of its author, and the GPUs that it
        may see: on gloo none, so that it does the same on every machine."""
        import cloudpickle
        self.answer("here")  # from here on it may be the function that takes time
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        if gpus is not None:  # None: all
            os.environ["CUDA_VISIBLE_DEVICES"] = gpus
        sys.path[:] = path + [entry for entry in sys.path if entry not in path]
        os.chdir(directory)
        self.function = cloudpickle.loads(function)
        self.answer("load")

    def join(self, world_size: int, backend: str, store: str) -> None:
        """Become a rank of a fresh default process group; world size 0: of none."""
        os.umask(0o077)  # a function may have changed it, and the ranks share the store's file
        if dist.is_initialized():
            dist.destroy_process_group()
        self.group = None
        os.environ["WORLD_SIZE"] = os.environ["LOCAL_WORLD_SIZE"] = str(max(world_size, 1))
        if world_size:
            bound = {}
            if backend == "nccl":
                if self.device.type == "cpu":
                    self.device, self.ledger.on_gpu = device.settle_on_gpu(self.rank), True
                # With its device named the group connects here, not in the first trial, and each send and receive
                # goes through it: else a ring of single sends would wait for connections of pairs, each for the next.
                backend, bound = device.ON_GPUS, {"device_id": self.device}
            dist.init_process_group(backend, store=dist.FileStore(store, world_size), rank=self.rank,
                                    world_size=world_size, timeout=_COLLECTIVE_TIMEOUT, **bound)
            if bound:
                device.meet_on_gpus(self.device)
            self.group = dist.group.WORLD
        self.answer("join")

    def run(self, stage: str, arguments: bytes, seed: int) -> None:
        """Run one trial: the stage around the function, with the arguments of this rank."""
        module, _, name = stage.partition(":")
        function = getattr(importlib.import_module(module), name)
        arguments = wire.placed(wire.decode(arguments), self.device)
        torch.manual_seed(seed)
        random.seed(seed)
        self.ledger.start()
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            result = wire.encode(function(self.function, arguments, self.ledger))
        if self.device.type != "cpu":
            torch.cuda.synchronize(self.device)  # a collective that still waits for other ranks is waited for
        sys.stdout.flush()
        sys.stderr.flush()
        self.answer("returned", result=result, calls=self._calls_at_the_end(), own_group=self._owns_group())

    def where(self) -> dict:
        """What this rank has communicated and where its main thread is, for a parent that wonders."""
        threads = sys._current_frames()
        del threads[threading.get_ident()]
        frames = list(_frames_of(threads.pop(self.main_thread)))
        innermost = frames[-1]
        others = [frame.f_code.co_filename for frame in threads.values()]
        calls = self.ledger.calls()
        if _learners([innermost]) or not all(file.startswith(_IDLE) for file in others):
            activity = time.monotonic()
        elif self.device.type != "cpu" and not all(call.done for call in calls):
            activity = 0.0  # to wait for a GPU takes CPU time
        else:
            activity = _cpu_seconds(self.main_thread)
        return {"calls": [call.to_dict() for call in calls], "communicating": innermost[0].startswith(_COMMUNICATION),
                "frames": _learners(frames), "activity": activity}

    def _owns_group(self) -> bool:
        return self.group is None or (dist.is_initialized() and dist.group.WORLD is self.group)

    def _calls_at_the_end(self) -> list[dict]:
        """The ledger once the recorder has noticed that what ended has ended, which lags a little."""
        for _ in range(_RECORDER_LAG_MS):
            calls = self.ledger.calls()
            if all(call.done for call in calls):
                break
            time.sleep(0.001)
        return [call.to_dict() for call in calls]


def _cpu_seconds(thread: int) -> float:
    """CPU time that a thread has used: a thread that waits uses none. Where it cannot be read, the clock."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    return time.monotonic()


def _frames_of(frame: FrameType):
    entries = []
    while frame is not None:
        entries.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
        frame = frame.f_back
    return reversed(entries)


def _learners(frames: list[tuple[str, int, str]]) -> list[list]:
    """The frames of the learner's own code: neither this package's, nor torch's, nor the standard library's."""
    return [list(entry) for entry in frames
            if not os.path.realpath(entry[0]).startswith(_FOREIGN) and not entry[0].startswith("<frozen")
            and entry[0] != "<string>"]


def describe_error(error: BaseException) -> dict:
    """An exception as data: its type, its bases, its message, the learner's own frames (file, line, function)."""
    frames = [(entry.filename, entry.lineno or 0, entry.name) for entry in traceback.extract_tb(error.__traceback__)]
    try:
        message = str(error)
    except BaseException:
        message = "(its message could not be read)"
    kind = type(error)
    return {"type": kind.__name__, "bases": [base.__name__ for base in kind.__mro__], "message": message[:4000],
            "frames": _learners(frames)[-12:], "in_torch": bool(frames) and "torch" in frames[-1][0]}
