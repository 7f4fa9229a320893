"""Confines a process that reads foreign content: it cannot open a file or a socket, start a process or look into one.

Two means of Linux are used where the kernel has them. seccomp refuses every system call but those of a computation that
reads and writes what is open already. Landlock refuses files, TCP and signals to others; it alone works on machines
whose system calls are not listed here. Sources: seccomp(2), landlock(7), `linux/landlock.h`.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Mapping, Sequence

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38
SECCOMP_MODE_FILTER = 2
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
"""Numbers of system calls, which are the same on every machine."""
LANDLOCK_CREATE_RULESET_VERSION = 1

COMPUTING = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
        "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "readv": 19, "writev": 20, "sched_yield": 24,
        "mremap": 25, "madvise": 28, "getpid": 39, "exit": 60, "gettimeofday": 96, "getrusage": 98, "sigaltstack": 131,
        "gettid": 186, "futex": 202, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
        "exit_group": 231, "getrandom": 318,
    },
    "aarch64": {
        "read": 63, "write": 64, "close": 57, "fstat": 80, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215,
        "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "readv": 65, "writev": 66,
        "sched_yield": 124, "mremap": 216, "madvise": 233, "getpid": 172, "exit": 93, "gettimeofday": 169,
        "getrusage": 165, "sigaltstack": 132, "gettid": 178, "futex": 98, "restart_syscall": 128,
        "clock_gettime": 113, "clock_getres": 114, "exit_group": 94, "getrandom": 278,
    },
}  # fmt: skip
"""Numbers of the allowed system calls, by machine. None of these calls names a file, an address or a process."""
AUDIT_ARCH: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's id of a machine, so that calls by the numbers of another one are refused."""

_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
"""Offsets in `struct seccomp_data`."""
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | errno.EPERM

_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_NET_RIGHTS = ((4, 0b11),)
_SCOPES = ((6, 0b11),)
"""Landlock's restrictions, by their first version: bits of `struct landlock_ruleset_attr`."""

SECCOMP, LANDLOCK = "seccomp", "Landlock"


def hide_memory() -> None:
    """Hide this process's memory and environment from others of the same user, and leave no core file.

    Root still may read them. A program that this process starts is not hidden.
    """
    if sys.platform == "linux":
        _prctl(PR_SET_DUMPABLE, 0)


def means() -> Sequence[str]:
    """Which of the two this kernel has to confine a process."""
    return tuple(
        name for name, is_there in ((SECCOMP, _has_seccomp()), (LANDLOCK, _landlock_version() > 0)) if is_there
    )


def confine() -> None:
    """Take from this process for good what it no longer needs: files, sockets, other processes, new rights.

    Imports must be complete by now. Raises `OSError` where the kernel refuses a means that it has.
    """
    if sys.platform != "linux":
        return
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    version = _landlock_version()
    if version:
        _restrict_by_landlock(version)
    if _has_seccomp():
        _restrict_by_seccomp()


def _restrict_by_landlock(version: int) -> None:
    """Refuse all that this version of Landlock can. Older ones accept unknown fields where they are 0."""
    rights = (sum(bits for since, bits in each if since <= version) for each in (_FILE_RIGHTS, _NET_RIGHTS, _SCOPES))
    attributes = struct.pack("=QQQ", *rights)
    ruleset = _syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        _syscall(LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _restrict_by_seccomp() -> None:
    machine = os.uname().machine
    filters = _program(AUDIT_ARCH[machine], tuple(COMPUTING[machine].values()))
    held = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("@HP", len(filters) // 8, ctypes.addressof(held))
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)


def _program(architecture: int, allowed: Sequence[int]) -> bytes:
    """The filter: an array of `struct sock_filter`; a jump gives the number of instructions to skip."""
    most = len(allowed)
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 0, most + 1, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        *((_JUMP_IF_EQUAL, most - at, 0, number) for at, number in enumerate(allowed)),
        (_RETURN, 0, 0, _REFUSED),
        (_RETURN, 0, 0, _ALLOWED),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _has_seccomp() -> bool:
    """Whether the kernel filters system calls, and those of this machine are known. A null filter shows it."""
    if sys.platform != "linux" or sys.maxsize < 2**32 or os.uname().machine not in COMPUTING:
        return False
    try:
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, None)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


def _landlock_version() -> int:
    """The kernel's version of Landlock; 0 for none."""
    if sys.platform != "linux":
        return 0
    try:
        return _syscall(
            LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(LANDLOCK_CREATE_RULESET_VERSION)
        )
    except OSError:
        return 0


def _prctl(option: int, value: int, pointer: bytes | None = None) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), pointer, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def _syscall(number: int, *arguments: object) -> int:
    return _checked(_libc().syscall(ctypes.c_long(number), *arguments))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    """The result of a call. Raises `OSError` where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
