"""Families of processes: forked by our server where there is fork, spawned by torch.multiprocessing elsewhere.

A family is `count` processes with one channel (frames) and one output pipe each. `Family` is the client's side of it:
descriptors to watch, exit statuses as they come, and `end`, which kills everything and waits until it is gone.
"""
from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])
_START = ("import json, sys; sys.path[:] = [p for p in sys.path if p] + [sys.argv[2]]; "
          "from autograder.ranks.server import main; main(int(sys.argv[1]), json.loads(sys.argv[3]))")
START_SECONDS = 120.0
END_SECONDS = 10.0


class StartError(RuntimeError):
    """Processes could not be started; the message says what to do."""


def start_method(wanted: str = "auto") -> str:
    """"fork" (our server) on Linux, "spawn" elsewhere; AUTOGRADER_START_METHOD overrides "auto"."""
    if wanted == "auto":
        wanted = os.environ.get("AUTOGRADER_START_METHOD", "fork" if sys.platform == "linux" else "spawn")
    if wanted not in ("fork", "spawn"):
        raise ValueError(f"start method {wanted!r}: choose 'fork' or 'spawn'")
    if wanted == "fork" and sys.platform != "linux":
        raise ValueError("start method 'fork' needs Linux; use 'spawn'")
    return wanted


class Family:
    """Processes of one launch, seen from their client. `statuses` maps a child to its exit code (-9: SIGKILL)."""

    def __init__(self, entry: str, count: int, method: str = "auto") -> None:
        self.channels: list[socket.socket] = []
        self.outputs: list[int] = []
        self.statuses: dict[int, int] = {}
        self._ended = False
        theirs, writers = [], []
        for _ in range(count):
            ours, its = socket.socketpair()
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            self.channels.append(ours)
            self.outputs.append(reader)
            theirs.append(its)
            writers.append(writer)
        try:
            starter = _Forked if start_method(method) == "fork" else _Spawned
            self._processes = starter(entry, theirs, writers)
        except BaseException:
            self._close_descriptors()
            raise
        finally:
            for its in theirs:
                its.close()
            for writer in writers:
                os.close(writer)

    @property
    def watched(self) -> list[int]:
        """Descriptors that become readable when a child may have ended; then call `reap`."""
        return self._processes.watched

    def reap(self) -> None:
        """Learn which children have ended by now."""
        self.statuses.update(self._processes.ended())

    def end(self, wait: bool = True) -> None:
        """Kill all processes and what they started. With `wait`, return when they are gone; may be called twice."""
        if not self._ended:
            self._ended = True
            self._processes.kill()
            self._close_descriptors()
        if wait:
            self._processes.join()

    def _close_descriptors(self) -> None:
        for channel in self.channels:
            channel.close()
        for reader in self.outputs:
            os.close(reader)


class _Forked:
    def __init__(self, entry: str, channels: list[socket.socket], writers: list[int]) -> None:
        self.control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lines = b""
        try:
            pairs = [fd for pair in zip((c.fileno() for c in channels), writers, strict=True) for fd in pair]
            _server().request({"entry": entry, "count": len(channels)}, [its.fileno(), *pairs])
        except BaseException:
            self.control.close()
            raise
        finally:
            its.close()
        self.watched = [self.control.fileno()]

    def ended(self) -> dict[int, int]:
        statuses = {}
        try:
            piece = self.control.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return statuses
        if not piece:
            self.watched = []
        *lines, self._lines = (self._lines + piece).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "child" in message:
                statuses[message["child"]] = message["status"]
        return statuses

    def kill(self) -> None:
        try:
            self.control.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def join(self) -> None:
        if self.control.fileno() < 0:
            return
        self.control.settimeout(END_SECONDS)
        try:
            while self.control.recv(1 << 16):
                pass
        except OSError:
            pass
        self.control.close()


class _Spawned:
    """Processes of torch.multiprocessing's spawn context, which import torch anew: seconds, but everywhere."""

    _one_at_a_time = threading.Lock()

    def __init__(self, entry: str, channels: list[socket.socket], writers: list[int]) -> None:
        import torch.multiprocessing as multiprocessing

        context = multiprocessing.get_context("spawn")
        self._processes = []
        readiness = []
        with self._one_at_a_time, _EmptyMain():
            for number, (channel, writer) in enumerate(zip(channels, writers, strict=True)):
                process = context.Process(target=spawned, args=(entry, number, channel, _Descriptor(writer)))
                process.start()
                self._processes.append(process)
                readiness.append(process.sentinel)
        self.watched = readiness

    def ended(self) -> dict[int, int]:
        statuses = {number: process.exitcode for number, process in enumerate(self._processes)
                    if process.exitcode is not None}
        self.watched = [process.sentinel for process in self._processes if process.exitcode is None]
        return statuses

    def kill(self) -> None:
        for process in self._processes:
            if process.exitcode is None:
                for end in (os.killpg, os.kill):
                    try:
                        end(process.pid, signal.SIGKILL)
                    except (ProcessLookupError, PermissionError):
                        pass

    def join(self) -> None:
        for process in self._processes:
            process.join(END_SECONDS)
        self._processes = [process for process in self._processes if process.exitcode is None]


class _Descriptor:
    """A file descriptor that travels to a spawned process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self):
        from multiprocessing.reduction import DupFd

        return _detach, (DupFd(self.number),)


def _detach(duplicate) -> int:
    return duplicate.detach()


class _EmptyMain:
    """Hides `__main__` while processes are spawned: else each would run the learner's script from its top again."""

    def __enter__(self) -> None:
        self._main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")

    def __exit__(self, *_: object) -> None:
        sys.modules["__main__"] = self._main


def spawned(entry: str, number: int, channel: socket.socket, output: int) -> None:
    """What a spawned process does: the same life as a forked one."""
    import importlib

    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    module, _, name = entry.partition(":")
    getattr(importlib.import_module(module), name)(channel, number)


class _Server:
    """The client's end of the fork server: start, wait until it is ready, ask, close."""

    def __init__(self, preload: tuple[str, ...]) -> None:
        self.owner = os.getpid()
        self.asking = threading.Lock()
        self.channel, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ready = False
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(its.fileno()), _ROOT, json.dumps(preload)],
                pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
                # the last: whether there are GPUs is asked without CUDA, which cannot be used after a fork
                env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                     "PYTORCH_NVML_BASED_CUDA_CHECK": "1"})
        except OSError as error:
            self.channel.close()
            raise StartError(f"The fork server could not be started: {error}. Free some memory or processes.") from None
        finally:
            its.close()

    @property
    def alive(self) -> bool:
        return self.owner == os.getpid() and self.channel.fileno() >= 0 and self.process.poll() is None

    def request(self, request: dict, descriptors: list[int]) -> None:
        with self.asking:
            self._wait_until_ready()
            socket.send_fds(self.channel, [json.dumps(request).encode()], descriptors)

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        self.channel.settimeout(START_SECONDS)
        try:
            answer = self.channel.recv(1 << 16)
        except TimeoutError:
            self.close()
            raise StartError(f"The fork server was not ready within {START_SECONDS:.0f} s. Is the machine "
                             "overloaded? Try again, or set AUTOGRADER_START_METHOD=spawn.") from None
        except OSError:
            answer = b""
        message = json.loads(answer) if answer else {"failed": "it ended without a word (out of memory?)"}
        if "failed" in message:
            self.close()
            raise StartError(f"The fork server could not start: {message['failed']}\nIs PyTorch installed for "
                             f"{sys.executable}? `make env` installs what is needed.")
        self.channel.settimeout(None)
        self._ready = True

    def close(self) -> None:
        """End the server and all that it forked; wait for it (it reaps its own)."""
        if self.owner != os.getpid():
            return
        self.channel.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _AdoptedServer:
    """A fork server that another process started."""

    alive = True

    def __init__(self, channel: socket.socket) -> None:
        self.asking = threading.Lock()
        self.channel = channel

    def request(self, request: dict, descriptors: list[int]) -> None:
        try:
            with self.asking:
                socket.send_fds(self.channel, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            raise StartError(f"the fork server is gone: {error}") from None

    def close(self) -> None:
        self.channel.close()


_starting = threading.Lock()
_servers: list[_Server | _AdoptedServer] = []
_preload: tuple[str, ...] = ()


def _server() -> _Server | _AdoptedServer:
    with _starting:
        if not _servers or not _servers[-1].alive:
            _servers[:] = [_Server(_preload)]
        return _servers[-1]


def start_server(preload: tuple[str, ...] = ()) -> None:
    """Start the fork server in the background, with further modules to load; does nothing if it runs already."""
    global _preload
    _preload = tuple(dict.fromkeys((*_preload, *preload)))
    if start_method() == "fork":
        _server()


def adopt_server(channel: socket.socket) -> None:
    """Take the fork server at the other end of `channel` from now on; this process starts none of its own."""
    with _starting:
        _servers[:] = [_AdoptedServer(channel)]


def stop_server() -> None:
    """End this process's fork server and everything it forked. The next launch starts another."""
    with _starting:
        for server in _servers:
            server.close()
        _servers.clear()


def _after_fork() -> None:
    global _starting
    _starting = threading.Lock()
    for server in _servers:
        server.channel.close()
    _servers.clear()


atexit.register(stop_server)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def wait_for_exit_status(family: Family, child: int, seconds: float) -> int | None:
    """The exit status of a child whose channel has closed; None if it has not ended within `seconds`."""
    deadline = time.monotonic() + seconds
    while child not in family.statuses and time.monotonic() < deadline:
        family.reap()
        if child not in family.statuses:
            time.sleep(0.002)
    return family.statuses.get(child)
