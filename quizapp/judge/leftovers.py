"""Finds and kills what a submission left running, where no kernel layer prevents it (T0 and T1)."""

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path


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
    for _ in range(1000):
        new = descendants(pid) - stopped
        if not new:
            break
        for child in new:
            _send(child, signal.SIGSTOP)
        stopped |= new
    for child in stopped:
        _send(child, signal.SIGKILL)


def kill_strays(known: Collection[int]) -> None:
    """Kill and reap children of this process that are not in ``known``: orphans that it adopted."""
    for pid in children(os.getpid()) - set(known):
        kill_tree(pid)
        _send(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
