"""Chooses the device that a submission runs on: auto, cpu, cuda, cuda:N or mps.

No function here touches a GPU in the calling process. That would start threads, and the judge forks.
"""

import re
import subprocess
import sys
from functools import cache

from quizapp.errors import QuizError
from quizapp.judge.sandbox.launch import clean_environment

_LIST = """
import torch
print(*[f"cuda:{n}" for n in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)])
print("mps" if torch.backends.mps.is_available() else "")
"""
_PROBE = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"


def check_name(device: str) -> str:
    """Return ``device`` unchanged. Raises `QuizError` if it is not the name of a device."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,2})?", device):
        raise QuizError(f"{device!r} is not a device; use auto, cpu, cuda, cuda:N or mps.")
    return device


def resolve(device: str) -> tuple[str, tuple[str, ...]]:
    """The device to use, and notes on it for the user. Raises `QuizError` if it does not exist here.

    ``auto`` is the first CUDA device if there is one, otherwise the CPU. It is never MPS, which lacks the
    float64 that some hidden tests need. Imports torch.
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
        return "cpu", ()
    number = int(device.partition(":")[2] or 0)
    if number >= count:
        present = f"this machine has {count}" if count else "there is none here"
        raise QuizError(f"CUDA device {number} is absent ({present}); use --device cpu.")
    return f"cuda:{number}", ()


def available() -> list[str]:
    """The names of this machine's devices. Starts a process that imports torch, which takes seconds."""
    try:
        return ["cpu", *_words_printed_by(_LIST)]
    except subprocess.TimeoutExpired:
        return ["cpu"]


def _words_printed_by(code: str) -> list[str]:
    """What ``code`` prints in a process of its own, in words. Raises ``TimeoutExpired`` after a minute."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-P", "-c", code],
        env=clean_environment(accelerator=True),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout.decode(errors="replace").split()


def has_mps() -> bool:
    """Whether torch can use Apple's GPU."""
    import torch

    return bool(torch.backends.mps.is_available())


@cache
def cuda_count() -> int:
    """The number of CUDA (or ROCm) devices, counted in another process and cached."""
    import torch

    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return 0
    try:
        return int(_words_printed_by(_PROBE)[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return 0
