"""Starts the judge's process: clean environment, one thread, nothing of the caller's inherited."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import quizapp

_ROOT = Path(quizapp.__file__).resolve().parent.parent
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "SYSTEMROOT")
_START = "import sys; sys.path.append(sys.argv.pop(1)); from {0} import main; sys.exit(main(*sys.argv[1:]))"


def clean_environment(*, accelerator: bool = False) -> dict[str, str]:
    """The environment of judge and workers: no secrets, one thread, no GPU unless asked for."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = "1"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if accelerator:
        environment |= {k: v for k, v in os.environ.items() if k.startswith(("CUDA_", "NVIDIA_"))}
    else:
        # With a device in sight autograd starts a thread for it, and forking after that is unsafe.
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return environment


def command(module: str, *arguments: str) -> list[str]:
    """A command line that runs ``module.main(*arguments)``; the current folder never shadows an import."""
    return [sys.executable, "-P", "-c", _START.format(module), str(_ROOT), *arguments]


def start_judge() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A judge of our own and the socket to it; it ends when the socket is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command("quizapp.judge.server", str(theirs.fileno())),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=clean_environment(),
            start_new_session=True,
        )
    return process, ours
