"""Starts and ends the judge's process."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path
from typing import BinaryIO

from quizapp import paths
from quizapp.judge.protocol.messages import JudgeFailed
from quizapp.judge.sandbox.launch import ROOT, clean_environment, python_command
from quizapp.util.installation import require_torch

SHUTDOWN_TIMEOUT_S = 3.0
IDLE_SECONDS = 15 * 60.0

JudgeProcess = tuple["subprocess.Popen[bytes]", socket.socket]


def start_judge(*, socket_key: str = "", tier: str = "", idle: float = IDLE_SECONDS) -> JudgeProcess:
    """Start a judge. Returns its process and a socket to it; closing the socket ends the judge.

    Other programs of this user find it by ``socket_key``, unless that is empty. ``tier`` is the isolation to
    warm up for. After ``idle`` seconds without an order it ends by itself.

    Raises `PartMissing` where torch is not installed.
    """
    require_torch()
    ours, theirs = socket.socketpair()
    with theirs, _log() as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            python_command(
                "quizapp.judge.server.main",
                str(theirs.fileno()),
                str(paths.cache().absolute()),
                socket_key,
                tier,
                str(idle),
            ),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=clean_environment(),
            cwd=ROOT,  # the caller's folder may have been removed, and torch's libraries ask for it
            start_new_session=True,
        )
    return process, ours


def stopped_by_itself(process: "subprocess.Popen[bytes]") -> bool:
    """Whether an ended judge failed by itself. If a submission killed it, its status is negative."""
    return process.returncode is not None and process.returncode > 0


def judge_stopped() -> JudgeFailed:
    """The error for a judge that failed by itself."""
    return JudgeFailed(f"The judge cannot start or stopped by itself; details are in {paths.log_file()}.")


def end_judge(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a judge whose socket is closed, and kill it if it does not end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(SHUTDOWN_TIMEOUT_S)
        return
    process.kill()
    process.wait()


def _log() -> BinaryIO:
    """Open the program's log for a failing judge's traceback, or the null device if that is impossible."""
    try:
        paths.log_file().parent.mkdir(parents=True, exist_ok=True)
        return paths.log_file().open("ab")
    except OSError:
        return Path(os.devnull).open("ab")
