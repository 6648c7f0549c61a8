"""The template: a process with PyTorch loaded, from which each submission's warden is forked in milliseconds.

It is process 1 of a sandbox, has the right to make namespaces within it, and never sees anything of a submission but
descriptors that it hands on. Where new namespaces are not allowed, it becomes the one warden of its sandbox itself.
"""
from __future__ import annotations

import json
import os
import signal
import socket
import traceback
from collections.abc import Callable
from functools import partial

from autograder.classroom.sealed.inside import confinement, warden
from autograder.ranks import server

PRELOAD = ("autograder.grading", "autograder.notebook", "IPython.core.interactiveshell", "IPython.core.magics",
           "IPython.core.completer", "autograder.classroom.sealed.inside.shell")


def main(descriptor: int, uid: int, sealed: bool) -> None:
    """Load, say whether many submissions can come from here, fork for every request until the channel closes.

    A request, how many bytes the writable folders may hold, comes with a warden's channel and where it writes its
    troubles; the answer is a descriptor of its process (pidfd), or {"failed": why}. Never returns.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries wardens
    channel = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    server.load(PRELOAD)
    many = not sealed or _may_fork_apart()
    channel.send(json.dumps({"ready": os.getpid(), "many": many}).encode())
    confine = partial(_confine, uid, many) if sealed else _stay
    while True:
        request, descriptors, *_ = socket.recv_fds(channel, 4096, 2)
        if not request:
            os._exit(0)
        become_warden = partial(_become_warden, *descriptors, partial(confine, json.loads(request)))
        if not many:
            _send_process(channel, os.getpid())
            become_warden()
        try:
            _send_process(channel, _fork(become_warden, apart=sealed))
        except OSError as error:
            channel.send(json.dumps({"failed": str(error)}).encode())
        finally:
            for each in descriptors:
                os.close(each)


def _may_fork_apart() -> bool:
    """Whether a process can be forked into namespaces of its own, with all that `_confine` does."""
    done, doing = os.pipe()

    def try_it() -> None:
        confinement.own_view(1 << 20)
        os.write(doing, b"1")

    try:
        _fork(try_it, apart=True)
    except OSError:
        return False
    finally:
        os.close(doing)
    with open(done, "rb") as answer:
        return answer.read() == b"1"


def _fork(child: Callable[[], None], *, apart: bool) -> int:
    """Run `child` in a new process, as process 1 of new namespaces if `apart`. Its number here, or OSError."""
    told, telling = os.pipe()
    if os.fork() == 0:
        try:
            try:
                if apart:
                    confinement.leave_namespaces()
                pid = os.fork()
            except OSError as error:
                os.write(telling, str(error).encode())
                os._exit(1)
            if pid == 0:
                os.close(told)
                os.close(telling)
                child()
            else:
                os.write(telling, str(pid).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(telling)
    with open(told) as said:
        answer = said.read()
    if not answer.isdigit():
        raise OSError(answer or "the process ended")
    return int(answer)


def _send_process(channel: socket.socket, pid: int) -> None:
    process = os.pidfd_open(pid)
    try:
        socket.send_fds(channel, [b"{}"], [process])
    finally:
        os.close(process)


def _confine(uid: int, own_namespaces: bool, size: int) -> None:
    if own_namespaces:
        confinement.own_view(size)
    confinement.be_ended_first()
    confinement.give_up_rights(uid)


def _stay(_: int) -> None:
    """Without a sandbox there is nothing to give up."""


def _become_warden(channel: int, said: int, confine: Callable[[], None]) -> None:
    """Keep nothing of the template but its memory, give rights up, serve one submission. Never returns."""
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((null, 0), (said, 1), (said, 2)):
            os.dup2(old, new)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kept = os.dup(channel) if channel < 3 else channel
        os.closerange(3, kept)
        os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
        os.chdir("/")
        confine()
        os.chdir(confinement.WRITABLE[0])
        confinement.close_to_others()
        warden.main(kept)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
