"""Finds and kills what a submission left running, where no kernel layer prevents it (T0 and T1)."""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

_ROUNDS = 1000
# A process that hands over to its child is on no list for a moment: one look at an empty list proves nothing.
_QUIET = 3
_PATIENCE = 2.0  # seconds


def children(pid: int) -> set[int]:
    """The direct children of ``pid``; empty where the system does not say."""
    found: set[int] = set()
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            found |= {int(number) for number in tasks.read_text(encoding="ascii").split()}
    return found


def descendants(pid: int) -> set[int]:
    """All processes below ``pid``."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        new = children(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def kill_tree(pid: int) -> None:
    """Kill everything below ``pid``: stopped first, until no new one appears, so that none escapes."""
    stopped: set[int] = set()
    quiet = 0
    for _ in range(_ROUNDS):
        new = descendants(pid) - stopped
        for child in new:
            _send(child, signal.SIGSTOP)
        stopped |= new
        quiet = 0 if new else quiet + 1
        if quiet >= _QUIET or not stopped:
            break
    for child in stopped:
        _send(child, signal.SIGKILL)


def reap_orphans(known: Collection[int]) -> None:
    """Kill and reap children of this process that are not in ``known``: orphans that it adopted.

    One that forks and leaves at once is another one by the time that the signal comes, so they are looked
    for until none is there any more.
    """
    begin = time.monotonic()
    quiet = 1
    while quiet < _QUIET and time.monotonic() - begin < _PATIENCE:
        strays = children(os.getpid()) - set(known)
        for pid in strays:
            _send(pid, signal.SIGSTOP)
            kill_tree(pid)
            _send(pid, signal.SIGKILL)
        for pid in strays:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        quiet = 0 if strays else quiet + 1


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
