"""The system calls that a sandbox denies, as a classic BPF program for seccomp.

A deny list: an allow list would have to follow every release of PyTorch. What is denied: looking into other
processes, namespaces and mounts, the kernel's larger interfaces, memory that no limit counts, clocks and keys.
"""
from __future__ import annotations

import errno
import platform
import struct

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
        "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "vmsplice": 278,
        "perf_event_open": 298,
        "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319,
        "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323}),
    "aarch64": (0xC00000B7, {"clone": 220, "clone3": 435, "ioctl": 29, "socket": 198}, {
        **_SAME, "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
        "vhangup": 58, "quotactl": 60, "vmsplice": 75, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105,
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


def is_known(machine: str) -> bool:
    """Whether the system calls of this kind of machine are known here."""
    return machine in _CALLS


def deny_list(machine: str | None = None) -> bytes:
    """The filter: instructions (struct sock_filter) one after another, as PR_SET_SECCOMP takes them."""
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
