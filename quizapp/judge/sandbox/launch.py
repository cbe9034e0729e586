"""Starts the judge's processes: a clean environment, one thread, and a GPU only where it is needed."""

import os
import sys
from pathlib import Path

import quizapp

ROOT = Path(quizapp.__file__).resolve().parent.parent
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "SYSTEMROOT")
# Carries the caller's CUDA_VISIBLE_DEVICES past the judge, which hides all devices from itself.
_VISIBLE = "QUIZAPP_VISIBLE_DEVICES"
_START = "import sys; sys.path.append(sys.argv.pop(1)); from {0} import main; sys.exit(main(*sys.argv[1:]))"


def clean_environment(*, accelerator: bool = False) -> dict[str, str]:
    """The environment of judge and workers: no secrets, one thread, and no GPU unless ``accelerator``."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[name] = "1"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    visible = os.environ.get(_VISIBLE, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if visible is not None:
        environment[_VISIBLE] = visible
    if not accelerator:
        # If a device is visible, autograd starts a thread for it, and forking after that is unsafe.
        environment |= {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    elif visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    return environment


def python_command(module: str, *arguments: str) -> list[str]:
    """A command line that runs ``module.main(*arguments)`` in this interpreter.

    ``-P`` keeps the current folder off the import path, so that a file there never shadows a module.
    """
    return [sys.executable, "-P", "-c", _START.format(module), str(ROOT), *arguments]
