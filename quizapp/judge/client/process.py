"""Starts the judge's process: clean environment, one thread, nothing of the caller's inherited."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path
from typing import BinaryIO

from quizapp import paths
from quizapp.judge.sandbox.launch import ROOT, clean_environment, python_command

Started = tuple["subprocess.Popen[bytes]", socket.socket]


def start_judge(*, door: str = "", tier: str = "", idle: float = 900.0) -> Started:
    """A judge of our own and the socket to it; it ends when the socket is closed.

    ``door`` is the key under which others of this user find it; ``tier`` the one to warm up for; ``idle``
    the seconds without an order after which it ends by itself.
    """
    ours, theirs = socket.socketpair()
    with theirs, _log() as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            python_command(
                "quizapp.judge.server.main",
                str(theirs.fileno()),
                str(paths.cache().absolute()),
                door,
                tier,
                str(idle),
            ),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=clean_environment(),
            cwd=ROOT,  # the caller's may be gone, and torch's libraries ask for it
            start_new_session=True,
        )
    return process, ours


def broke(process: "subprocess.Popen[bytes]") -> bool:
    """Whether an ended judge stopped by itself: a submission can only kill one."""
    return process.returncode is not None and process.returncode > 0


def end_judge(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a judge whose socket is closed; kill it if it does not end by itself."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(3.0)
        return
    process.kill()
    process.wait()


def _log() -> BinaryIO:
    """Where a judge that breaks leaves its traceback: the program's log, or nowhere."""
    try:
        paths.log_file().parent.mkdir(parents=True, exist_ok=True)
        return paths.log_file().open("ab")
    except OSError:
        return Path(os.devnull).open("ab")
