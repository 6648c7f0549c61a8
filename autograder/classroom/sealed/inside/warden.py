"""The warden: process 1 of what a submission sees. It carries frames, starts processes, and runs no learner's code.

It forks two fork servers. The first is its own: from it come the learner's shell and the ranks of every check, which
are fresh and get the learner's function from the shell as bytes. The second belongs to the shell, for the learner's own
`check` and `run_on_ranks`.
"""
from __future__ import annotations

import errno
import os
import resource
import selectors
import signal
import socket
import threading
import time
import traceback

from autograder.grading import run_trials
from autograder.ranks import processes, server, wire
from autograder.ranks.launch import Place
from autograder.ranks.processes import Family, StartError, wait_for_exit_status

_GRACE_SECONDS = 3.0  # after the interrupt that ends a cell
_ASK_SECONDS = 20.0
_MAX_PARTS = 300_000  # values in an answer to the grader
_RESULT_BYTES = 160 * 2**20  # of all outcomes of one check (wide models make some 90 MB)


def main(descriptor: int) -> None:
    """Life of the warden: limit all processes to come, start the fork servers, serve until the channel closes."""
    channel = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    order = _next(channel)
    _limit(order["limits"])
    mine, server_pid = _fork_server([channel])
    learners, _ = _fork_server([channel, mine])
    processes.adopt_server(mine)
    threading.Thread(target=_end_with, args=(channel,), daemon=True).start()
    warden = Warden(learners, server_pid, order["limits"])
    signal.signal(signal.SIGUSR1, warden.stop)
    learners.close()
    wire.send(channel, wire.encode({"did": "start"}))
    while True:
        order = _next(channel)
        wire.send(channel, wire.encode(warden.answer(order)))


def _next(channel: socket.socket) -> dict:
    body = wire.receive(channel)
    if body is None:
        os._exit(0)
    return wire.decode(body)


def _end_with(channel: socket.socket) -> None:
    """End when the grader's end closes, whatever the warden is doing then."""
    poll = selectors.select.poll()
    poll.register(channel, selectors.select.POLLRDHUP | selectors.select.POLLHUP)
    poll.poll()
    os._exit(0)


def _limit(limits: dict) -> None:
    """Limits for all processes to come. Address space: what is in use by now (PyTorch) and `memory` more."""
    with open("/proc/self/statm") as line:
        used = int(line.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    for kind, value in ((resource.RLIMIT_AS, used + limits["memory"]), (resource.RLIMIT_NPROC, limits["processes"]),
                        (resource.RLIMIT_FSIZE, limits["files"]), (resource.RLIMIT_CORE, 0),
                        (resource.RLIMIT_NOFILE, 1024)):
        if kind == resource.RLIMIT_NPROC and os.getpid() != 1:
            continue  # without a sandbox the processes of the grader's whole account would count
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _fork_server(not_for_it: list[socket.socket]) -> tuple[socket.socket, int]:
    """A fork server with all that is loaded here: the socket to ask it, and its number."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            for each in (*not_for_it, ours):
                each.close()
            server.die_with_parent()
            server.serve(its, parent)
        finally:
            os._exit(0)
    its.close()
    return ours, pid


class Warden:
    """Answers the grader's orders: "cell", "value" and "check". What it passes on is the learner's word, as data."""

    def __init__(self, learners_server: socket.socket, server_pid: int, limits: dict) -> None:
        self.server_pid = server_pid
        self.limits = limits
        self.shell = _ShellProcess(learners_server, limits["output"])
        self.ended: str | None = None
        self.busy = False

    def stop(self, *_: object) -> None:
        """The grader says that what runs now uses more memory, processes or time than is allowed."""
        if self.busy:
            self.busy = False
            raise _OverLimit

    def answer(self, order: dict) -> dict:
        """One answer per order; {"did": "ended", "why"} when the learner's process is gone."""
        try:
            if self.ended is None:
                self.busy = True
                return getattr(self, order.pop("do"))(**order)
        except _OverLimit:
            return {"did": "over limit", "why": _OVER}
        except _Gone as gone:
            self.ended = str(gone)
        except StartError as error:
            return self._why_not_started(str(error)[-2000:])
        except OSError as error:
            if error.errno != errno.ENOSPC:
                return {"did": "nonsense", "why": traceback.format_exc()[-2000:]}
            return {"did": "too much", "why": _FULL}
        except Exception:
            return {"did": "nonsense", "why": traceback.format_exc()[-2000:]}
        finally:
            self.busy = False
        return {"did": "ended", "why": self.ended}

    def _why_not_started(self, error: str) -> dict:
        """Processes could not be started: because of what the learner's code left behind or did, or our failure."""
        if _threads_here() > self.limits["processes"] // 2:
            return {"did": "over limit", "why": _OVER}
        if os.waitpid(self.server_pid, os.WNOHANG) != (0, 0):
            self.ended = "it ended the process from which ranks are started"
            return {"did": "ended", "why": self.ended}
        if _any_is_stopped():
            self.ended = "it stopped a process that starts ranks, or is one"
            return {"did": "ended", "why": self.ended}
        return {"did": "failed", "why": error}

    def cell(self, source: str, number: int, seconds: float) -> dict:
        """Run one cell. stopped: whether time ran out; ended: how the process ended with it, or None."""
        self.shell.printed.clear()
        self.shell.interrupted = False
        outputs: list = []
        try:
            answer = self.shell.ask({"do": "cell", "source": source, "number": number}, seconds, interrupt=True)
            outputs = _list(answer.get("outputs"))
            if _parts(outputs) > _MAX_PARTS:
                outputs = []
        except _Gone as gone:
            self.ended = str(gone)
        except _OverLimit:
            self.ended = str(self.shell.end(_OVER))
        return {"did": "cell", "outputs": [*outputs, *self._printed()], "ended": self.ended,
                "stopped": self.shell.interrupted, "over": self.ended == _OVER}

    def _printed(self) -> list[dict]:
        text = self.shell.printed.text()
        return [{"kind": "stream", "name": "stdout", "text": text}] if text else []

    def value(self, name: str) -> dict:
        """A variable of the notebook, if it is a short text or None."""
        answer = self.shell.ask({"do": "value", "name": name}, _ASK_SECONDS)
        value, kind = answer.get("value"), answer.get("type")
        return {"did": "value", "value": value if isinstance(value, str) else None, "type": str(kind)[:100]}

    def check(self, name: str, stage: str, group: bool, timeout: float, trials: list) -> dict:
        """Run a function of the notebook on all trials, on ranks; the outcomes, as far as the trials went."""
        answer = self.shell.ask({"do": "function", "name": name}, _ASK_SECONDS)
        if type(answer.get("function")) is not bytes:
            return {"did": "no function", "why": str(answer.get("why"))[:2000],
                    "callable": answer.get("callable") is True}
        path = [str(entry)[:4096] for entry in _list(answer.get("path"))[:100]]
        plan = {"stage": stage, "group": group, "timeout": timeout, "trials": trials}
        outcomes = run_trials(answer["function"], plan, max(map(len, trials)), "gloo",
                              Place(path, str(answer.get("directory"))))
        found = [[outcome.to_dict() for outcome in ranks] for ranks in outcomes]
        results = [outcome["result"] or b"" for ranks in found for outcome in ranks]
        if sum(map(len, results)) > _RESULT_BYTES:
            return {"did": "too much", "why": f"the results of the ranks have {sum(map(len, results))} bytes"}
        # What takes long to read is read here first, under the grader's clock.
        if _parts(found) + sum(_parts(wire.decode(result)) for result in results if result) > _MAX_PARTS:
            return {"did": "too much", "why": f"the ranks sent back more than {_MAX_PARTS} values"}
        return {"did": "check", "outcomes": found}


_OVER = "its processes together used more memory, processes or time than is allowed"
_FULL = "The notebook has filled /tmp, where ranks meet: delete files in it before the check."


class _OverLimit(BaseException):
    """Raised out of whatever the warden does for the learner."""


def _parts(value: object) -> int:
    """How many values a tree has."""
    count, waiting = 0, [value]
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
    return count


def _threads_here() -> int:
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            count += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            pass
    return count


def _any_is_stopped() -> bool:
    """Whether a process here was stopped by a signal: nothing of ours does that."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as line:
                if line.read().rpartition(")")[2].split()[0] == "T":
                    return True
        except OSError:
            pass
    return False


class _Gone(Exception):
    """The learner's process is gone; the message says how."""


class _ShellProcess:
    """The learner's process, seen from the warden."""

    def __init__(self, learners_server: socket.socket, output: int) -> None:
        self.family = Family("autograder.classroom.sealed.inside.shell:serve", 1, "fork")
        self.channel = self.family.channels[0]
        self.reader = wire.FrameReader(self.channel)
        self.printed = _Printed(output)
        self.interrupted = False
        self.given_up = 0  # orders whose answers may still come
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.channel, selectors.EVENT_READ)
        self.selector.register(self.family.outputs[0], selectors.EVENT_READ)
        socket.send_fds(self.channel, [b"s"], [learners_server.fileno()])
        self.pid = self.ask({"do": "start", "output": output}, 60.0)["pid"]

    def ask(self, order: dict, seconds: float, *, interrupt: bool = False) -> dict:
        """Send an order and wait for its answer, reading what is printed meanwhile. _Gone when there will be none."""
        try:
            return self._answered(order, seconds, interrupt)
        except _OverLimit:
            self.given_up += 1
            raise

    def _answered(self, order: dict, seconds: float, interrupt: bool) -> dict:
        try:
            wire.send(self.channel, wire.encode(order))
        except OSError:
            raise self.end(self._how_it_ended()) from None
        deadline = time.monotonic() + seconds
        while True:
            for key, _ in self.selector.select(max(deadline - time.monotonic(), 0.0)):
                if key.fileobj is not self.channel:
                    if not self.printed.read(key.fd):
                        self.selector.unregister(key.fileobj)
                    continue
                frames = self.reader.read()
                late, frames = frames[:self.given_up], frames[self.given_up:]
                self.given_up -= len(late)
                if frames:
                    self._drain()
                    answer = _decoded(frames[0])
                    if answer is None:
                        raise self.end("it sent what is no answer")
                    return answer
                if self.reader.closed:
                    self._drain()
                    raise self.end(self._how_it_ended())
            if time.monotonic() >= deadline:
                if self.interrupted or not interrupt:
                    raise self.end(f"it did not end within {seconds:.0f} seconds")
                self.interrupted = True
                deadline = time.monotonic() + _GRACE_SECONDS
                os.kill(self.pid, signal.SIGINT)

    def _drain(self) -> None:
        while any(key.fd == self.family.outputs[0] for key, _ in self.selector.select(0)):
            if not self.printed.read(self.family.outputs[0]):
                self.selector.unregister(self.family.outputs[0])
                return
            if self.printed.full:
                return

    def _how_it_ended(self) -> str:
        status = wait_for_exit_status(self.family, 0, 2.0)
        if status is None:
            return "it closed its connection"
        if status < 0:
            return f"it was killed by signal {-status}"
        return f"it ended with exit code {status}"

    def end(self, why: str) -> _Gone:
        self.selector.close()
        self.family.end(wait=False)
        return _Gone(why)


class _Printed:
    """The beginning of what a cell's processes wrote to their descriptors, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        self._kept, self._left_out = b"", 0

    @property
    def full(self) -> bool:
        return self._left_out > 0

    def read(self, descriptor: int) -> bool:
        try:
            piece = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return True
        room = self.limit - len(self._kept)
        self._kept += piece[:room]
        self._left_out += max(len(piece) - room, 0)
        return bool(piece)

    def text(self) -> str:
        more = f"\n… {self._left_out} bytes left out …\n" if self._left_out else ""
        return self._kept.decode("utf-8", "replace") + more


def _decoded(body: bytes) -> dict | None:
    try:
        answer = wire.decode(body)
    except wire.WireError:
        return None
    return answer if isinstance(answer, dict) else None


def _list(value: object) -> list:
    return value if isinstance(value, list) else []
