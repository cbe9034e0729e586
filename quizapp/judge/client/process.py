"""Starts the judge's process: clean environment, one thread, nothing of the caller's inherited."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import quizapp
from quizapp import paths

_ROOT = Path(quizapp.__file__).resolve().parent.parent
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "SYSTEMROOT")
# Carries the caller's CUDA_VISIBLE_DEVICES past the judge, which hides all devices from itself.
_VISIBLE = "QUIZAPP_VISIBLE_DEVICES"
_START = "import sys; sys.path.append(sys.argv.pop(1)); from {0} import main; sys.exit(main(*sys.argv[1:]))"


Started = tuple["subprocess.Popen[bytes]", socket.socket]


def clean_environment(*, accelerator: bool = False) -> dict[str, str]:
    """The environment of judge and workers: no secrets, one thread, no GPU unless asked for."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = "1"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    visible = os.environ.get(_VISIBLE, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if visible is not None:
        environment[_VISIBLE] = visible
    if not accelerator:
        # With a device in sight autograd starts a thread for it, and forking after that is unsafe.
        environment |= {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    elif visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    return environment


def command(module: str, *arguments: str) -> list[str]:
    """A command line that runs ``module.main(*arguments)``; the current folder never shadows an import."""
    return [sys.executable, "-P", "-c", _START.format(module), str(_ROOT), *arguments]


def start_judge(*, door: str = "", tier: str = "", idle: float = 900.0) -> Started:
    """A judge of our own and the socket to it; it ends when the socket is closed.

    ``door`` is the key under which others of this user find it; ``tier`` the one to warm up for; ``idle``
    the seconds without an order after which it ends by itself.
    """
    ours, theirs = socket.socketpair()
    with theirs, _log() as log:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command(
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
            cwd=_ROOT,  # the caller's may be gone, and torch's libraries ask for it
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
