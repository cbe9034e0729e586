"""System calls that Python does not wrap. Every failure raises `OSError`."""

import ctypes
import os
import platform
import struct

MACHINE = platform.machine()
# This machine's column in the tables of system call numbers; -1 if they do not cover it.
COLUMN = {"x86_64": 0, "aarch64": 1}.get(MACHINE, -1)

PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_CAPSET = (126, 91)

_libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: int) -> int:
    """Make a system call with integer arguments (addresses included)."""
    result = int(_libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, *arguments: int) -> int:
    """Make a ``prctl`` call. Missing arguments are zero."""
    values = [*arguments, 0, 0, 0, 0][:4]
    result = int(_libc.prctl(ctypes.c_int(option), *(ctypes.c_ulong(value) for value in values)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def libc_call(name: str, *arguments: int) -> int:
    """Call a function of the C library that takes integers and returns -1 on failure."""
    result = int(getattr(_libc, name)(*(ctypes.c_int(value) for value in arguments)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send ``signal_number`` to this process when the thread that forked it ends."""
    prctl(PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Keep other processes of this user, children included, from reading or tracing this one."""
    prctl(_PR_SET_DUMPABLE, 0)


def drop_privileges() -> None:
    """Give up every capability permanently. Without them, root is an ordinary user."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    header = ctypes.create_string_buffer(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0))
    none = ctypes.create_string_buffer(24)
    syscall(_CAPSET[COLUMN], ctypes.addressof(header), ctypes.addressof(none))
