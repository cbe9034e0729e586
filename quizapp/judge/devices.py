"""Which device a submission runs on: auto, cpu, cuda, cuda:N or mps."""

import re
import subprocess
import sys
from functools import cache

from quizapp.errors import QuizError
from quizapp.judge.sandbox.launch import clean_environment
from quizapp.judge.verdict import NO_CUDA_NOTE

_LIST = """
import torch
print(*[f"cuda:{n}" for n in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)])
print("mps" if torch.backends.mps.is_available() else "")
"""
_PROBE = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"


def check_name(device: str) -> str:
    """``device`` if it is the name of one, else a `QuizError`."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,2})?", device):
        raise QuizError(f"{device!r} is no device; use auto, cpu, cuda, cuda:N or mps.")
    return device


def resolve(device: str) -> tuple[str, tuple[str, ...]]:
    """The device to use and notes for the user; an absent one that was asked for is a `QuizError`.

    ``auto`` is the first CUDA device where there is one, else the CPU: MPS lacks float64, which some hidden
    tests need. Only for a process that has torch.
    """
    check_name(device)
    if device == "cpu":
        return "cpu", ()
    if device == "mps":
        if not has_mps():
            raise QuizError("There is no MPS device here; use --device cpu.")
        return "mps", ("MPS has no float64: a test that needs it fails there.",)
    count = cuda_count()
    if device == "auto":
        if count:
            return "cuda:0", ()
        return "cpu", (NO_CUDA_NOTE,)
    number = int(device.partition(":")[2] or 0)
    if number >= count:
        found = f"this machine has {count}" if count else "there is none here"
        raise QuizError(f"CUDA device {number} is absent ({found}); use --device cpu.")
    return f"cuda:{number}", ()


def available() -> list[str]:
    """The devices of this machine, asked in a process that has torch."""
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-P", "-c", _LIST],
            env=clean_environment(accelerator=True),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ["cpu"]
    return ["cpu", *done.stdout.decode(errors="replace").split()]


def has_mps() -> bool:
    """Whether torch can use Apple's GPU."""
    import torch

    return bool(torch.backends.mps.is_available())


@cache
def cuda_count() -> int:
    """How many CUDA (or ROCm) devices there are; asked in another process, so that none is touched."""
    import torch

    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return 0
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-P", "-c", _PROBE],
            env=clean_environment(accelerator=True),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return int(done.stdout.split()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return 0
