"""Landlock: permanently restricts which files a process may read and write.

A rule can only allow a tree as a whole. A tree that contains our own files is therefore allowed entry by
entry (`without`). The numbers are those of linux/landlock.h.
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from quizapp.judge.sandbox.syscalls import PR_SET_NO_NEW_PRIVS, prctl, syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1

READ_FILE = 1 << 2
READ_DIR = 1 << 3
WRITE_FILE = 1 << 1
_TRUNCATE = 1 << 14
# The kernel refuses a rule for a file with any other right than execute, write, read, truncate and ioctl.
_FILE_RIGHTS = 1 << 0 | WRITE_FILE | READ_FILE | _TRUNCATE | 1 << 15
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets and signals reach only processes under the same restriction
READ = READ_FILE | READ_DIR
# Everything except executing and creating devices or sockets.
WRITE = ((1 << 16) - 1) & ~(1 << 0 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 15)


def version() -> int:
    """The kernel's Landlock version, 1 or more. Raises `OSError` if the kernel has none."""
    return syscall(_CREATE_RULESET, 0, 0, _VERSION_FLAG)


def restrict(rules: Iterable[tuple[Path, int]], *, network: bool = True) -> None:
    """Restrict this thread, and whatever it starts, to the given rights below the given paths.

    Paths that do not exist are skipped. ``network`` also forbids TCP if the kernel can (version 4). Raises
    `OSError`.
    """
    available = version()
    handled = _ALL_RIGHTS[max(v for v in _ALL_RIGHTS if v <= available)]
    attributes = struct.pack(
        "<QQQ", handled, _TCP if network and available >= 4 else 0, _SCOPES if available >= 6 else 0
    )[: 24 if available >= 6 else 16 if available >= 4 else 8]
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = syscall(_CREATE_RULESET, ctypes.addressof(buffer), len(attributes), 0)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, handle), 12)
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.addressof(rule), 0)
    finally:
        os.close(handle)


def without(folder: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """Yield paths that together cover ``folder`` except for the ``hidden`` paths in it."""
    inside = [path for path in hidden if path == folder or folder in path.parents]
    if folder in inside:
        return
    if not inside:
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        yield from without(entry, inside)
