"""A sandbox for a stranger's program: bubblewrap, a list of denied system calls, limits, and an end that is certain.

Nothing of the host is visible inside but the interpreter, the environment's packages and this package, all read-only;
there is no network but the loopback interface, no inherited descriptor but one channel, an empty environment, and
two small writable folders in memory. bubblewrap makes that once for each grading process, as a *template* in which
PyTorch gets loaded; each submission's sandbox is forked from there, into namespaces of its own (`inside/`). Its first
process is process 1 of its own process namespace: when it ends, because we kill it or because our end of the channel
closes, everything inside has ended; and when the template ends, so do all that came from it.
"""
from __future__ import annotations

import atexit
import json
import os
import platform
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autograder.classroom.sealed import seccomp

START_SECONDS = 90.0
UNSEALED_END_SECONDS = 5.0
HOME = "/tmp"
_PACKAGE = Path(__file__).resolve().parents[2]
_START = ("import sys; sys.path[:0] = {paths!r}; "
          "from autograder.classroom.sealed.inside.template import main; main({channel}, uid={uid}, sealed={sealed})")
_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib64", "/usr/lib32", "/bin", "/lib", "/lib64", "/lib32", "/nix/store",
           "/usr/share/zoneinfo", "/usr/share/fonts", "/etc/ld.so.cache", "/etc/fonts", "/etc/localtime")
_NEEDED = ("torch", "numpy", "cloudpickle", "IPython")
_SOCKETS = 4096  # of one submission; each may hold some 200 KiB
_LOWEST_UID, _UIDS = 20_000, 40_000  # one at random for each grading process that runs as root
_ETC = {"/etc/passwd": "learner:x:{uid}:{uid}::/tmp:/bin/sh\n", "/etc/group": "learner:x:{uid}:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n", "/etc/nsswitch.conf": "hosts: files\n"}
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": HOME, "USER": "learner", "LOGNAME": "learner", "LANG": "C.UTF-8",
                "TMPDIR": "/tmp", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                "KINETO_LOG_LEVEL": "99", "IPYTHONDIR": "/tmp/.ipython", "PYTHONDONTWRITEBYTECODE": "1"}


class NoSandbox(RuntimeError):
    """This machine cannot seal a submission off; the message says what to install or to allow."""


class StartFailed(RuntimeError):
    """A sandbox did not come up this time."""


@dataclass(frozen=True)
class Limits:
    """What a submission may use. Bytes, but `processes`, which counts threads too.

    memory: what one process may allocate; total_memory: what all of them may hold; files: each of the two
    writable folders; output: what a cell may print.
    """

    memory: int = 2 * 2**30
    total_memory: int = 5 * 2**30
    processes: int = 384
    files: int = 128 * 2**20
    output: int = 256 * 2**10


class Template:
    """A sandbox in which PyTorch is loaded and nothing else has happened: each submission's sandbox is forked from it.

    Raises NoSandbox where there can be none, StartFailed when this one did not start. `many` says whether more than
    one submission can come from it; `sealed=False` makes the same processes without any protection.
    """

    def __init__(self, *, sealed: bool = True, size: int = 2**20) -> None:
        self.sealed = sealed
        self.many = True
        self.owner = os.getpid()
        self._init: int | None = None
        self._asking = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._said, said = _said_pipe()
        try:
            with theirs:
                self._process = (self._start_sealed if sealed else self._start_unsealed)(theirs.fileno(), said, size)
            self._channel.settimeout(START_SECONDS)
            self.many = self._answer()[0]["many"]
        except BaseException:
            self.close()
            raise
        finally:
            os.close(said)

    def _start_sealed(self, channel: int, said: int, size: int) -> subprocess.Popen:
        program = bubblewrap()
        uid = _LOWEST_UID + secrets.randbelow(_UIDS) if os.geteuid() == 0 else 0
        files = {name: _pipe_with(text.format(uid=uid or 1000).encode()) for name, text in _ETC.items()}
        told, telling = os.pipe()
        held, holding = os.pipe()
        arguments = _pipe_with(b"".join(os.fsencode(word) + b"\0" for word in (
            *_view(size, bool(uid)), *_provided(files), "--info-fd", str(telling), "--block-fd", str(held))))
        passed = [channel, arguments, telling, held, *files.values()]
        try:
            process = subprocess.Popen(
                [program, "--args", str(arguments), "--", *_python(channel, uid, sealed=True)], pass_fds=passed, env={},
                cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        finally:
            for descriptor in passed[1:]:
                os.close(descriptor)
        # The sandbox waits for a word on `held`, so that it is in our hand before anything in it runs.
        try:
            init = _first_process(told, process)
            if init is not None:
                self._init = os.pidfd_open(init)
                os.write(holding, b"1")
        except (OSError, ValueError):
            pass
        finally:
            os.close(told)
            os.close(holding)
        if self._init is None:
            process.kill()
            process.wait()
            raise StartFailed(f"bubblewrap did not start: {_read_said(self._said) or 'no reason given'}")
        return process

    def _start_unsealed(self, channel: int, said: int, _: int) -> subprocess.Popen:
        return subprocess.Popen(_python(channel, 0, sealed=False), pass_fds=[channel], stdin=subprocess.DEVNULL,
                                stdout=said, stderr=said, start_new_session=True, cwd=HOME,
                                env={**_ENVIRONMENT, "PATH": os.environ.get("PATH", _ENVIRONMENT["PATH"])})

    def fork(self, channel: socket.socket, said: int, size: int) -> int:
        """Start a warden that serves `channel` and writes its troubles to `said`; a descriptor of its process."""
        with self._asking:
            try:
                socket.send_fds(self._channel, [str(size).encode()], [channel.fileno(), said])
            except OSError as error:
                raise StartFailed(f"the process that sandboxes come from is gone ({error})") from None
            answer, descriptors = self._answer()
        if "failed" in answer or len(descriptors) != 1:
            raise StartFailed(f"no sandbox could be forked: {answer.get('failed')}")
        return descriptors[0]

    def _answer(self) -> tuple[dict, list[int]]:
        try:
            answer, descriptors, *_ = socket.recv_fds(self._channel, 4096, 1)
        except OSError as error:
            answer, descriptors, reason = b"", [], f" ({error})"
        else:
            reason = ""
        if not answer:
            raise StartFailed(f"the process that sandboxes come from ended{reason}: "
                              f"{_read_said(self._said)[-2000:] or 'no reason given'}")
        return json.loads(answer), descriptors

    def close(self) -> None:
        """End it, and every sandbox that was forked from it; may be called twice."""
        self._channel.close()
        process = getattr(self, "_process", None)
        if self._init is not None:
            _end_process(self._init)
            self._init = None
        if process is not None:
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self._said >= 0:
            os.close(self._said)
            self._said = -1


_templates: dict[bool, Template] = {}
_starting = threading.Lock()


def get_ready(*, sealed: bool = True) -> Template:
    """This process's template, started at first use. Raises NoSandbox and StartFailed as Template does."""
    with _starting:
        if sealed not in _templates or _templates[sealed].owner != os.getpid():
            _templates[sealed] = Template(sealed=sealed)
        return _templates[sealed]


def _put_away(template: Template) -> None:
    with _starting:
        if _templates.get(template.sealed) is template:
            del _templates[template.sealed]
    template.close()


@atexit.register
def _close_templates() -> None:
    for template in list(_templates.values()):
        if template.owner == os.getpid():
            _put_away(template)


class Sandbox:
    """One submission's sandbox. `channel` leads to its warden; `over_limit` says what is exceeded; `end` ends all.

    Raises NoSandbox where there can be none, StartFailed when this one did not start.
    """

    def __init__(self, limits: Limits, *, sealed: bool = True) -> None:
        self.limits = limits
        self.sealed = sealed
        self._template: Template | None = None
        self._warden: int | None = None
        self.channel, theirs = socket.socketpair()
        self._said, said = _said_pipe()
        try:
            with theirs:
                self._warden = self._forked(theirs, said)
            self.init = _number(self._warden)
        except BaseException:
            self.end()
            raise
        finally:
            os.close(said)

    def _forked(self, channel: socket.socket, said: int) -> int:
        """The warden's process. A template that has died since its last use is made anew, once."""
        template = get_ready(sealed=self.sealed)
        if not template.many:  # each sandbox needs one of its own
            self._template = Template(sealed=self.sealed, size=self.limits.files)
            return self._template.fork(channel, said, self.limits.files)
        try:
            return template.fork(channel, said, self.limits.files)
        except StartFailed:
            _put_away(template)
            return get_ready(sealed=self.sealed).fork(channel, said, self.limits.files)

    def said(self) -> str:
        """What the warden wrote about troubles of its own."""
        return _read_said(self._said)

    def over_limit(self) -> str | None:
        """"memory" or "processes" if everything inside together uses more than allowed, else None."""
        if not self.sealed:
            return None
        members, most = list(_family(self.init)), self.limits.total_memory
        if sum(threads for _, threads in members) > self.limits.processes + 16:
            return "processes"
        pids = [pid for pid, _ in members]
        own = sum(map(_own_memory, pids))
        shared = _shared_memory(pids) if own + _shared_everywhere() > most else 0
        if own + shared > most and sum(map(_share_of_memory, pids)) + shared > most or _sockets(self.init) > _SOCKETS:
            return "memory"
        return None

    def warn(self) -> None:
        """Have the warden end what it is running for the learner."""
        if self._warden is not None:
            try:
                signal.pidfd_send_signal(self._warden, signal.SIGUSR1)
            except ProcessLookupError:
                pass

    def end(self) -> None:
        """Kill everything inside and wait until it is gone; may be called twice."""
        self.channel.close()
        if self._warden is not None:
            if not self.sealed:
                select.select([self._warden], [], [], UNSEALED_END_SECONDS)  # it ends itself and its children first
            _end_process(self._warden)
            self._warden = None
        if self._template is not None:
            self._template.close()
            self._template = None
        if self._said >= 0:
            os.close(self._said)
            self._said = -1

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _end_process(process: int) -> None:
    """Kill a process, given its pidfd, and wait until it, and all of the namespace that it began, is gone."""
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
    select.select([process], [], [], START_SECONDS)
    os.close(process)


def _number(process: int) -> int:
    """The number that a process has here, given its pidfd."""
    with open(f"/proc/self/fdinfo/{process}") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def _said_pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    return reader, writer


def _read_said(said: int) -> str:
    try:
        return os.read(said, 1 << 14).decode("utf-8", "replace").strip()
    except BlockingIOError:
        return ""


def bubblewrap() -> str:
    """The path of a bubblewrap that can do what is needed; NoSandbox, with what to do, if there is none."""
    if sys.platform != "linux":
        raise NoSandbox("Sealed grading needs Linux (bubblewrap). Grade in a Linux container or virtual machine"
                        f"{_OR_UNSEALED}")
    if not seccomp.is_known(platform.machine()):
        raise NoSandbox(f"Sealed grading knows no system calls of {platform.machine()}{_OR_UNSEALED}")
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandbox("Sealed grading needs bubblewrap, which is not installed. Install it, for example: "
                        f"sudo apt-get install bubblewrap{_OR_UNSEALED}")
    options = subprocess.run([program, "--help"], capture_output=True, text=True, env={}).stdout
    missing = [option for option in ("--disable-userns", "--size", "--as-pid-1", "--info-fd") if option not in options]
    if missing:
        raise NoSandbox(f"This bubblewrap is too old (it lacks {', '.join(missing)}). Install version 0.8 or newer"
                        f"{_OR_UNSEALED}")
    return program


_OR_UNSEALED = ("; or, if you trust every submission with your account, grade without protection: "
                "--SealedExecute.unsealed=True.")


def require() -> None:
    """Start a sandbox with an empty program in it; NoSandbox, with what to do, if that fails."""
    program = bubblewrap()
    namespaces = () if os.geteuid() == 0 else ("--unshare-user", "--disable-userns")
    tried = subprocess.run(
        [program, *namespaces, *_NAMESPACES, "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc", "--",
         "/bin/true"],
        capture_output=True, text=True, env={}, stdin=subprocess.DEVNULL)
    if tried.returncode:
        raise NoSandbox(f"bubblewrap cannot make a sandbox here: {tried.stderr.strip()}. Allow user namespaces "
                        "(sysctl kernel.unprivileged_userns_clone=1; on Ubuntu 24.04 an AppArmor profile for bwrap, or "
                        "kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt seccomp=unconfined)"
                        f"{_OR_UNSEALED}")


_RIGHTS = ("SYS_ADMIN", "NET_ADMIN", "SETPCAP", "SETUID", "SETGID")
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")


def _view(size: int, root: bool) -> Iterator[str]:
    """bubblewrap's arguments: namespaces, what is visible, what is writable (`size` bytes in each folder).

    The rights are the template's, within the sandbox: to make namespaces and mounts, bring a loopback up, and give
    rights up. As an ordinary user they count in a user namespace only. As root, no user namespace (a root inside would
    escape limits): a warden becomes another user at once.
    """
    yield from () if root else ("--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000")
    yield from ("--cap-drop", "ALL")
    for right in _RIGHTS:
        if root or right not in ("SETUID", "SETGID"):
            yield from ("--cap-add", f"CAP_{right}")
    yield from (*_NAMESPACES, "--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv")
    for name, value in _ENVIRONMENT.items():
        yield from ("--setenv", name, value)
    paths = visible()
    writable = ("--perms", "1777", "--size", str(size), "--tmpfs")
    yield from (*writable, HOME)  # first: an environment that lies below it is shown in it
    for folder in sorted({str(parent) for path in paths for parent in Path(path).parents} - {"/", HOME}):
        yield from ("--perms", "0755", "--dir", folder)
    for path in paths:
        yield from ("--ro-bind", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from (*writable, "/dev/shm", "--chdir", HOME)


def _provided(files: dict[str, int]) -> Iterator[str]:
    for name, descriptor in files.items():
        yield from ("--perms", "0444", "--ro-bind-data", str(descriptor), name)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")


def visible() -> list[str]:
    """The paths of the host that a sandbox shows, read-only: system libraries, the interpreter, packages, ours."""
    paths = [*_SYSTEM]
    for prefix in (sys.base_prefix, sys.prefix):
        paths += [os.path.join(prefix, part) for part in ("bin", "lib", "lib64", "pyvenv.cfg")]
    found = list(dict.fromkeys(path for path in [*paths, *_packages(), str(_PACKAGE)] if os.path.exists(path)))
    return [path for path in found if not any(_within(path, other) for other in found if other != path)]


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


def _packages() -> list[str]:
    """The folders from which the needed packages are imported here."""
    specs = [find_spec(name) for name in _NEEDED]
    return list(dict.fromkeys(os.path.dirname(os.path.dirname(spec.origin)) for spec in specs if spec and spec.origin))


def _python(channel: int, uid: int, *, sealed: bool) -> list[str]:
    elsewhere = [path for path in _packages() if not _within(path, sys.prefix)]
    paths = [str(_PACKAGE.parent), *elsewhere]
    start = _START.format(paths=paths, channel=channel, uid=uid, sealed=sealed)
    return [sys.executable, "-I", "-X", "utf8", "-c", start]


def _pipe_with(content: bytes) -> int:
    """A descriptor to read `content` from (a pipe holds it: at most 64 KiB)."""
    reader, writer = os.pipe()
    try:
        os.write(writer, content)
    finally:
        os.close(writer)
    return reader


def _first_process(told: int, process: subprocess.Popen) -> int | None:
    """The host's number of process 1 inside, from bubblewrap's own report; None if it ended without one."""
    report, deadline = b"", time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if not select.select([told], [], [], 1.0)[0]:
            continue
        piece = os.read(told, 4096)
        report += piece
        if b"}" in report:
            return int(json.loads(report)["child-pid"])
        if not piece:
            break
    return None


def _family(pid: int) -> Iterator[tuple[int, int]]:
    """(process, its number of threads) for a process and all below it."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        yield pid, len(threads)
        for thread in threads:
            try:
                with open(f"/proc/{pid}/task/{thread}/children") as listing:
                    waiting += map(int, listing.read().split())
            except OSError:
                continue


def _own_memory(pid: int) -> int:
    """An upper bound on what a process holds: pages that it shares with its parent are counted."""
    try:
        with open(f"/proc/{pid}/statm") as line:
            _, resident, shared = map(int, line.read().split()[:3])
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _share_of_memory(pid: int) -> int:
    """What a process holds for itself, pages from before a fork divided among those who share them."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))
    except PermissionError:
        return _own_memory(pid)
    except (OSError, StopIteration):
        return 0


def _shared_everywhere() -> int:
    """How much memory all processes of the machine share with one another, files in memory included."""
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Shmem:"))


def _shared_memory(pids: list[int]) -> int:
    """The size of all memory that these processes share; it stays as long as one maps it, whether it looks or not."""
    areas: dict[bytes, int] = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps", "rb") as lines:
                found = [line.split(None, 5) for line in lines if b" /dev/zero" in line]
        except OSError:
            continue
        for where, _, offset, _, number, _ in found:
            begin, end = (int(part, 16) for part in where.split(b"-"))
            areas[number] = max(areas.get(number, 0), int(offset, 16) + end - begin)
    return sum(areas.values())


def _sockets(pid: int) -> int:
    """How many sockets there are in a process's network: what waits in one is counted as no process's memory."""
    try:
        with open(f"/proc/{pid}/net/sockstat") as lines:
            return int(lines.readline().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
