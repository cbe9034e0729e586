"""Finds and kills processes that a submission left running, at tiers where the kernel does not."""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

_MAX_SCANS = 1000
# A process that forks and exits can be missing from /proc for a moment: require three empty scans in a row.
_EMPTY_SCANS = 3
_REAP_TIMEOUT_S = 2.0


def children(pid: int) -> set[int]:
    """The direct children of ``pid``; empty if the system does not list them."""
    pids: set[int] = set()
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            pids |= {int(number) for number in tasks.read_text(encoding="ascii").split()}
    return pids


def descendants(pid: int) -> set[int]:
    """All processes below ``pid``."""
    below: set[int] = set()
    unvisited = [pid]
    while unvisited:
        new = children(unvisited.pop()) - below
        below |= new
        unvisited += new
    return below


def kill_tree(pid: int) -> None:
    """Kill everything below ``pid``.

    All are stopped first, until no new one appears. Otherwise one could fork while the others are killed.
    """
    stopped: set[int] = set()
    empty_scans = 0
    for _ in range(_MAX_SCANS):
        new = descendants(pid) - stopped
        for child in new:
            _send(child, signal.SIGSTOP)
        stopped |= new
        empty_scans = 0 if new else empty_scans + 1
        if empty_scans >= _EMPTY_SCANS or not stopped:
            break
    for child in stopped:
        _send(child, signal.SIGKILL)


def reap_orphans(keep: Collection[int]) -> None:
    """Kill and reap the children of this process that are not in ``keep``: orphans that it adopted.

    An orphan may fork and exit before the signal reaches it, so this repeats until none is left.
    """
    begin = time.monotonic()
    empty_scans = 1
    while empty_scans < _EMPTY_SCANS and time.monotonic() - begin < _REAP_TIMEOUT_S:
        orphans = children(os.getpid()) - set(keep)
        for pid in orphans:
            _send(pid, signal.SIGSTOP)
            kill_tree(pid)
            _send(pid, signal.SIGKILL)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        empty_scans = 0 if orphans else empty_scans + 1


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
