"""A sandbox for a stranger's program: bubblewrap, a list of denied system calls, limits, and an end that is certain.

Nothing of the host is visible inside but the interpreter, the environment's packages and this package, all read-only;
there is no network but the loopback interface, no inherited descriptor but one channel, an empty environment, and
two small writable folders in memory. The first process inside (`inside.py`) is process 1 of its own process
namespace: when it ends, because we kill it or because our end of the channel closes, everything inside has ended.
"""
from __future__ import annotations

import errno
import json
import os
import platform
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

START_SECONDS = 90.0
HOME = "/tmp"
_PACKAGE = Path(__file__).resolve().parents[1]
_START = ("import sys; sys.path[:0] = {paths!r}; "
          "from autograder.classroom.inside import main; main(int(sys.argv[1]), int(sys.argv[2]))")
_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib64", "/usr/lib32", "/bin", "/lib", "/lib64", "/lib32", "/nix/store",
           "/usr/share/zoneinfo", "/usr/share/fonts", "/etc/ld.so.cache", "/etc/fonts", "/etc/localtime")
_NEEDED = ("torch", "numpy", "cloudpickle", "IPython")
_LOWEST_UID, _UIDS = 20_000, 40_000  # one at random for each sandbox of a grader that runs as root
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


class Sandbox:
    """One running sandbox. `channel` leads to the process inside; `over_limit` says what is exceeded; `end` ends all.

    Raises NoSandbox where there can be none, StartFailed when this one did not start. `sealed=False` runs the same
    processes without any protection.
    """

    def __init__(self, limits: Limits, *, sealed: bool = True) -> None:
        self.limits = limits
        self.init: int | None = None
        self._pidfd: int | None = None
        self.channel, theirs = socket.socketpair()
        self._said, said = os.pipe()
        os.set_blocking(self._said, False)
        try:
            with theirs:
                self._process = (self._start_sealed if sealed else self._start_unsealed)(theirs.fileno(), said)
        except BaseException:
            self.end()
            raise
        finally:
            os.close(said)

    def _start_sealed(self, channel: int, said: int) -> subprocess.Popen:
        program = bubblewrap()
        uid = _LOWEST_UID + secrets.randbelow(_UIDS) if os.geteuid() == 0 else 0
        files = {name: _pipe_with(text.format(uid=uid or 1000).encode()) for name, text in _ETC.items()}
        rules = _pipe_with(deny_list())
        told, telling = os.pipe()
        held, holding = os.pipe()
        arguments = _pipe_with(b"".join(os.fsencode(word) + b"\0" for word in (
            *_view(self.limits, uid), *_provided(files), "--seccomp", str(rules), "--info-fd", str(telling),
            "--block-fd", str(held))))
        passed = [channel, arguments, rules, telling, held, *files.values()]
        try:
            process = subprocess.Popen(
                [program, "--args", str(arguments), "--", *_python(channel, uid)], pass_fds=passed, env={}, cwd="/",
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        finally:
            for descriptor in passed[1:]:
                os.close(descriptor)
        # The sandbox waits for a word on `held`, so that it is in our hand before anything in it runs.
        try:
            self.init = _first_process(told, process)
            if self.init is not None:
                self._pidfd = os.pidfd_open(self.init)
                os.write(holding, b"1")
        except (OSError, ValueError):
            self.init = None
        finally:
            os.close(told)
            os.close(holding)
        if self._pidfd is None:
            process.kill()
            process.wait()
            raise StartFailed(f"bubblewrap did not start: {self.said() or 'no reason given'}")
        return process

    def _start_unsealed(self, channel: int, said: int) -> subprocess.Popen:
        return subprocess.Popen(_python(channel, 0), pass_fds=[channel], stdin=subprocess.DEVNULL, stdout=said,
                                stderr=said, start_new_session=True, cwd=HOME,
                                env={**_ENVIRONMENT, "PATH": os.environ.get("PATH", _ENVIRONMENT["PATH"])})

    def said(self) -> str:
        """What bubblewrap and the first process wrote about troubles of their own."""
        try:
            return os.read(self._said, 1 << 14).decode("utf-8", "replace").strip()
        except BlockingIOError:
            return ""

    def over_limit(self) -> str | None:
        """"memory" or "processes" if everything inside together uses more than allowed, else None."""
        if self.init is None:
            return None
        members = list(_family(self.init))
        if sum(threads for _, threads in members) > self.limits.processes + 16:
            return "processes"
        if sum(map(_own_memory, (pid for pid, _ in members))) > self.limits.total_memory and \
                sum(map(_share_of_memory, (pid for pid, _ in members))) > self.limits.total_memory:
            return "memory"
        return None

    def warn(self) -> None:
        """Have the first process end what it is running for the learner."""
        if self._pidfd is not None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGUSR1)
            except ProcessLookupError:
                pass

    def end(self) -> None:
        """Kill everything inside and wait until it is gone; may be called twice."""
        self.channel.close()
        process = getattr(self, "_process", None)
        if self._pidfd is not None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            select.select([self._pidfd], [], [], START_SECONDS)  # readable: all of its namespace is gone
            os.close(self._pidfd)
            self._pidfd = None
        elif process is not None and process.poll() is None:
            try:
                process.wait(5.0)  # unsealed: it ends by itself, with its children, when the channel closes
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        if process is not None:
            process.wait()
        if self._said >= 0:
            os.close(self._said)
            self._said = -1

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def bubblewrap() -> str:
    """The path of a bubblewrap that can do what is needed; NoSandbox, with what to do, if there is none."""
    if sys.platform != "linux":
        raise NoSandbox("Sealed grading needs Linux (bubblewrap). Grade in a Linux container or virtual machine"
                        f"{_OR_UNSEALED}")
    if platform.machine() not in _CALLS:
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


_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")


def _view(limits: Limits, uid: int) -> Iterator[str]:
    """bubblewrap's arguments: namespaces, what is visible, what is writable."""
    if uid:  # As root: no user namespace; the first process gives root up at once (a root inside would escape limits).
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
    yield from (*_NAMESPACES, "--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv")
    for name, value in _ENVIRONMENT.items():
        yield from ("--setenv", name, value)
    paths = visible()
    writable = ("--perms", "1777", "--size", str(limits.files), "--tmpfs")
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


def _python(channel: int, uid: int) -> list[str]:
    elsewhere = [path for path in _packages() if not _within(path, sys.prefix)]
    start = _START.format(paths=[str(_PACKAGE.parent), *elsewhere])
    return [sys.executable, "-I", "-X", "utf8", "-c", start, str(channel), str(uid)]


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
    """What a process holds, shared pages divided among those who share them."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except PermissionError:
        return _own_memory(pid)
    except (OSError, StopIteration):
        return 0


# ---- denied system calls -----------------------------------------------------------------------------------
# A deny list: an allow list would have to follow every release of PyTorch. What is denied: looking into other
# processes, namespaces and mounts, the kernel's larger interfaces, memory that no limit counts, clocks and keys.

_SAME = {  # numbers that all architectures share
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "open_tree_attr": 467}
_CALLS = {
    "x86_64": (0xC000003E, {"clone": 56, "clone3": 435, "ioctl": 16, "socket": 41}, {
        **_SAME, "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "msgget": 68, "ptrace": 101, "syslog": 103,
        "uselib": 134, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155, "_sysctl": 156, "adjtimex": 159,
        "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
        "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175,
        "delete_module": 176, "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227,
        "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
        "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319,
        "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323}),
    "aarch64": (0xC00000B7, {"clone": 220, "clone3": 435, "ioctl": 29, "socket": 198}, {
        **_SAME, "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
        "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105,
        "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161,
        "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "msgget": 186, "semget": 190, "shmget": 194,
        "shmctl": 195, "shmat": 196, "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225,
        "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265,
        "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        "finit_module": 273, "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294}),
}
_LOAD, _JUMP_EQUAL, _JUMP_NOT_BELOW, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32  # offsets in struct seccomp_data, low halves
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_OTHER_ABI = 0x40000000  # the x32 calls of x86_64
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16


def deny_list(machine: str | None = None) -> bytes:
    """The seccomp filter as bubblewrap's --seccomp takes it: a classic BPF program."""
    architecture, known, denied = _CALLS[machine or platform.machine()]
    program = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL),
               (_LOAD, 0, 0, _NUMBER), (_JUMP_NOT_BELOW, 0, 1, _OTHER_ABI), _fail(errno.ENOSYS)]
    for number in denied.values():
        program += [(_JUMP_EQUAL, 0, 1, number), _fail(errno.EPERM)]
    # The flags of clone3 lie in memory, where a filter cannot look: "no such call" makes libc use clone.
    program += [(_JUMP_EQUAL, 0, 1, known["clone3"]), _fail(errno.ENOSYS)]
    program += _if_called(known["clone"], [(_LOAD, 0, 0, _FIRST), (_JUMP_BITS, 0, 1, _NEW_NAMESPACES),
                                           _fail(errno.EPERM)])
    program += _if_called(known["ioctl"], [(_LOAD, 0, 0, _SECOND), *(
        line for request in _TERMINAL_INJECTION for line in ((_JUMP_EQUAL, 0, 1, request), _fail(errno.EPERM)))])
    program += _if_called(known["socket"], [
        (_LOAD, 0, 0, _FIRST), *((_JUMP_EQUAL, 0, 1, family) if line == 0 else (_RETURN, 0, 0, _ALLOW)
                                 for family in (_UNIX, _INET, _INET6) for line in (0, 1)),
        (_JUMP_EQUAL, 1, 0, _NETLINK), _fail(errno.EAFNOSUPPORT),
        (_LOAD, 0, 0, _THIRD), (_JUMP_EQUAL, 1, 0, 0), _fail(errno.EAFNOSUPPORT)])  # routing questions only
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in program)


def _fail(error: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERROR | error)


def _if_called(number: int, lines: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """`lines` for this call only; a call that passes them is allowed."""
    return [(_JUMP_EQUAL, 0, len(lines) + 1, number), *lines, (_RETURN, 0, 0, _ALLOW)]
