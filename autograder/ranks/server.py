"""The fork server that we own: a quiet process with torch loaded, from which ranks and judges fork in milliseconds.

It is ours because `multiprocessing`'s is one per process: somebody else's preload would win. It is single-threaded,
lives in a session of its own (Ctrl-C and the Stop button do not reach it), and ends when its client's end of the
socket closes. Children die with it (PDEATHSIG). It is a subreaper, so whatever a child leaves behind, daemons with
`setsid` included, comes back to it and is killed.

One request = one datagram {"entry", "count"} with 2·count + 1 descriptors: for each child a channel and an output
pipe, and a control channel for this family. On the control channel the server writes {"child", "status"} as children
end; when the client closes it, the whole family is killed and the channel closed in answer.
"""
from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterable

PRELOAD = ("torch", "torch.distributed", "torch.nn.parallel", "torch._dynamo", "torch.distributed.optim",
           "torch.distributed._functional_collectives", "torch.distributed.nn", "torch.distributed.algorithms.join",
           "cloudpickle", "numpy", "autograder.ranks.rank")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MAX_DESCRIPTORS = 250


def main(descriptor: int, preload: list[str]) -> None:
    """Run the server on an inherited SOCK_SEQPACKET descriptor until its other end closes."""
    requests = socket.socket(fileno=descriptor)
    client = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _silence()  # imports are noisy
    try:
        load(preload)
    except BaseException:
        requests.send(json.dumps({"failed": traceback.format_exc()[-4000:]}).encode())
        return
    requests.send(json.dumps({"ready": os.getpid()}).encode())
    serve(requests, client)


def load(further: Iterable[str] = ()) -> None:
    """Import what ranks need, and `further` modules that may be missing, for all processes that fork from this one."""
    for name in PRELOAD:
        importlib.import_module(name)
    for name in further:
        try:
            importlib.import_module(name)
        except Exception:
            pass  # who needs it will see the error; the others must not
    import torch
    torch.set_num_threads(1)
    _functional_collectives_once()
    _remove_empty_cache_folder()
    gc.collect()
    gc.freeze()


def serve(requests: socket.socket, client: int) -> None:
    """Fork for the requests of a process, `client`, until it ends or closes its end. Everything is loaded by now."""
    _silence()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _Server(requests, client).serve()


def _silence() -> None:
    """Import noise must never land on the standard error of a notebook cell: nbgrader would give 0 points for it."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def _functional_collectives_once() -> None:
    """The first functional collective imports for seconds; do here what it imports, without a process group."""
    for name in ("torch.distributed._functional_collectives_impl", "torch._higher_order_ops.effects"):
        try:
            importlib.import_module(name)
        except ImportError:
            pass


def _remove_empty_cache_folder() -> None:
    """Importing torch._dynamo makes an empty folder for compiled kernels; nothing is compiled here."""
    try:
        from torch._inductor.runtime.cache_dir_utils import default_cache_dir

        os.rmdir(default_cache_dir())
    except (ImportError, OSError):
        pass


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


class _Family:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.children: dict[int, int] = {}
        self.watches: dict[int, int] = {}


class _Server:
    def __init__(self, requests: socket.socket, client: int) -> None:
        self.requests = requests
        self.client = client
        self.pid = os.getpid()
        self.families: dict[int, _Family] = {}
        self.poll = select.poll()
        self.poll.register(requests, select.POLLIN)
        self.watches: dict[int, tuple[_Family, int]] = {}

    def serve(self) -> None:
        while os.getppid() == self.client:
            for descriptor, _ in self.poll.poll(1000):
                if descriptor == self.requests.fileno():
                    if not self._take_request():
                        return self._end_everything()
                elif descriptor in self.families:
                    self._end_family(self.families[descriptor])
                elif descriptor in self.watches:
                    self._report_end(descriptor)
        self._end_everything()

    def _take_request(self) -> bool:
        size = array.array("i").itemsize
        try:
            message, ancillary, _, _ = self.requests.recvmsg(1 << 16, socket.CMSG_SPACE(_MAX_DESCRIPTORS * size))
        except ConnectionError:
            return False
        if not message:
            return False
        descriptors = array.array("i")
        for _, kind, data in ancillary:
            if kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[:len(data) - len(data) % size])
        request = json.loads(message)
        control, *pairs = descriptors
        family = _Family(socket.socket(fileno=control))
        self.families[control] = family
        self.poll.register(control, select.POLLIN)
        try:
            for child in range(request["count"]):
                self._fork(family, child, request["entry"], *pairs[2 * child:2 * child + 2])
        except OSError:  # no more processes or memory: this family fails, the server does not
            self._end_family(family)
        for descriptor in pairs:
            os.close(descriptor)
        return True

    def _fork(self, family: _Family, child: int, entry: str, channel: int, output: int) -> None:
        pid = os.fork()
        if pid == 0:
            _be_child(self.pid, entry, child, channel, output)
        family.children[child] = pid
        watch = os.pidfd_open(pid)
        family.watches[child] = watch
        self.watches[watch] = (family, child)
        self.poll.register(watch, select.POLLIN)

    def _report_end(self, watch: int) -> None:
        family, child = self.watches[watch]
        self._forget_watch(watch)
        del family.watches[child]
        _, status = os.waitpid(family.children.pop(child), 0)
        self._tell(family, {"child": child, "status": os.waitstatus_to_exitcode(status)})
        self._kill_orphans()

    def _tell(self, family: _Family, message: dict) -> None:
        try:
            family.control.send(json.dumps(message).encode() + b"\n")
        except OSError:
            pass

    def _end_family(self, family: _Family) -> None:
        self.poll.unregister(family.control)
        del self.families[family.control.fileno()]
        for pid in family.children.values():
            _kill(pid)
        for child, pid in family.children.items():
            if child in family.watches:
                self._forget_watch(family.watches[child])
            os.waitpid(pid, 0)
        self._kill_orphans()
        family.control.close()

    def _forget_watch(self, watch: int) -> None:
        self.poll.unregister(watch)
        del self.watches[watch]
        os.close(watch)

    def _kill_orphans(self) -> None:
        """Kill every child that is not a member of a living family, and what these leave, until there is none."""
        known = {pid for family in self.families.values() for pid in family.children.values()}
        while True:
            orphans = [pid for pid in _children() if pid not in known]
            if not orphans:
                return
            for pid in orphans:
                _kill(pid)
                try:
                    os.waitpid(pid, 0)
                except ChildProcessError:
                    pass

    def _end_everything(self) -> None:
        for family in list(self.families.values()):
            self._end_family(family)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as listing:
        return [int(pid) for pid in listing.read().split()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _be_child(server: int, entry: str, number: int, channel: int, output: int) -> None:
    """Life of a forked child: own session, own output, no other descriptor; it never returns to the server's loop."""
    try:
        die_with_parent()
        if os.getppid() != server:
            os._exit(1)
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        keep = os.dup2(channel, 3, inheritable=False) if channel != 3 else 3
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        gc.enable()
        module, _, name = entry.partition(":")
        getattr(importlib.import_module(module), name)(socket.socket(fileno=keep), number)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(0)
