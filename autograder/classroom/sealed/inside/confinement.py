"""Giving rights up, step by step, in a process that is about to run a stranger's submission.

bubblewrap made the sandbox: what is visible of the host, an empty environment, no network. What follows makes one for a
single submission within it. Numbers are those of Linux, the same on all architectures (see the man pages named).
"""
from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

from autograder.classroom.sealed.seccomp import deny_list

WRITABLE = ("/tmp", "/dev/shm")
_FILES = 50_000  # in each of them: an empty file takes memory, too
_NEW_NAMESPACES = 0x20000 | 0x8000000 | 0x20000000 | 0x40000000  # mounts, IPC, processes, network: unshare(2)
_NOSUID, _NODEV, _NOEXEC, _RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 2, 4, 8, 1, 32, 4096, 16384, 1 << 18  # mount(2)
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1  # netdevice(7)
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 4, 22, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL, _SECCOMP_MODE_FILTER, _CAPABILITY_VERSION_3 = 4, 2, 0x20080522
_LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
_libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)


def leave_namespaces() -> None:
    """The next child of this process is process 1 of namespaces of its own. OSError where that is not allowed."""
    _check(_libc.unshare(_NEW_NAMESPACES), "unshare")


def own_view(size: int) -> None:
    """As process 1 of new namespaces: fresh writable folders of `size` bytes, a /proc and a loopback of their own."""
    _mount(None, "/", None, _REC | _PRIVATE)
    covered = [(place, os.open(place, os.O_PATH)) for place in _mounted_below(WRITABLE)]
    for folder in WRITABLE:
        _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, f"size={size},nr_inodes={_FILES},mode=1777")
    for place, descriptor in covered:  # an environment that lies below /tmp stays visible
        _make_place(place, descriptor)
        _mount(f"/proc/self/fd/{descriptor}", place, None, _BIND | _REC)
        _mount(None, place, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
        os.close(descriptor)
    _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def give_up_rights(uid: int) -> None:
    """No capability, no way to gain one, the denied system calls denied; as another user where `uid` is not 0."""
    _check(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clearing ambient capabilities")
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for those that this kernel does not know
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header, none = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    _check(_libc.capset(header, none), "dropping capabilities")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    rules = deny_list()
    held = ctypes.create_string_buffer(rules, len(rules))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rules) // 8, ctypes.addressof(held)))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0), "seccomp")


def be_ended_first() -> None:
    """Where the machine runs out of memory, the kernel ends this process first, and with it all of the submission."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def close_to_others() -> None:
    """No process of the same user may look into this one."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _mounted_below(folders: tuple[str, ...]) -> list[str]:
    """What bubblewrap mounted below these folders, outermost first."""
    with open("/proc/self/mountinfo") as lines:
        places = {line.split()[4].encode().decode("unicode_escape") for line in lines}
    return sorted(place for place in places if any(place.startswith(f"{folder}/") for folder in folders))


def _make_place(place: str, descriptor: int) -> None:
    folder = os.path.isdir(f"/proc/self/fd/{descriptor}")
    os.makedirs(place if folder else os.path.dirname(place), mode=0o755, exist_ok=True)
    if not folder:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o444))


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [word if word is None else os.fsencode(word) for word in (source, target, kind)]
    _check(_libc.mount(*words, flags, data and data.encode()), f"mounting {target}")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
