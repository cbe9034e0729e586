"""The probe that runs a training script as a program. The judge sends it to the worker as code.

The script is not imported: the module that the worker imports is empty, and this probe puts the script in its
place and runs it as ``__main__``. Then it loads the checkpoint that the script left, and records its tensors.
All that may be forged. The judge measures the tensors, so a forgery would have to be a trained model.
"""

import contextlib
import os
import sys
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from quizapp.judge.worker.transcript import DTYPES

CHECKPOINT = "checkpoint.pt"
MAX_FILE = 64 << 20  # bytes of the file, which also holds the optimizer's state
MAX_TENSOR = 2 << 20
MAX_TENSORS = 16 << 20  # bytes of the model's tensors
MAX_NAMES = 2000
MAX_REPORT = 100
_PIECE = 1 << 20  # bytes that one tensor of a transcript carries

# Bound before the script runs, which may replace it.
_load = torch.load
_Tensor = torch.Tensor
_DTYPES = frozenset(DTYPES.values())
_MAX_DIMENSIONS = 16


class CheckpointProblem(StrEnum):
    """Why a checkpoint cannot be used. The judge puts it into words, so that no script can."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    NO_MODEL = "no model"
    NAME = "name"
    TENSOR = "tensor"
    TOO_LARGE = "too large"


def probe_script(code: ModuleType, given: Any, record: Any) -> None:
    """Run the script with its arguments and record how it ended, and what its checkpoint holds.

    ``source`` and ``checkpoint``, the file from which it continues, are given as tensors of bytes.
    """
    path = Path(str(code.__file__))
    source = join_bytes(given["source"])
    path.write_bytes(source)
    if given["checkpoint"]:
        path.with_name(CHECKPOINT).write_bytes(join_bytes(given["checkpoint"]))
    os.environ.update({"RANK": str(record.rank), "WORLD_SIZE": str(record.world)})
    os.environ["LOCAL_RANK"] = os.environ["RANK"]
    try:
        program = compile(source, str(path), "exec", dont_inherit=True)
    except BaseException as error:  # noqa: BLE001 - too deep a nesting raises MemoryError or RecursionError
        record("refused", record.describe(error))
        return
    main = ModuleType("__main__")
    main.__file__ = str(path)
    main.__builtins__ = code.__builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = [path.name, *given["arguments"]]
    try:
        exec(program, vars(main))  # noqa: S102 - sandboxed
    except SystemExit as error:
        if error.code not in (None, 0):
            record("exit", error.code if type(error.code) is int else 1)
    except BaseException as error:  # noqa: BLE001 - a script may raise anything
        record("failed", record.describe(error))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):  # the script may have closed or replaced it
            stream.flush()
    if record.rank == 0:
        for name, value in read_checkpoint(path.with_name(CHECKPOINT), keep=given["keep"]).items():
            record(name, value)


def split_bytes(data: bytes) -> list[torch.Tensor]:
    """Bytes as tensors, since a transcript limits the length of a text."""
    starts = range(0, len(data), _PIECE)
    return [torch.frombuffer(bytearray(data[i : i + _PIECE]), dtype=torch.uint8) for i in starts]


def join_bytes(pieces: list[torch.Tensor]) -> bytes:
    """The bytes that `split_bytes` split."""
    return b"".join(piece.numpy().tobytes() for piece in pieces)


def read_checkpoint(path: Path, *, keep: bool = False) -> dict[str, Any]:
    """Read what the judge measures: the model's ``tensors``, ``step`` and ``report``, or a ``problem``.

    With ``keep``, ``file`` holds the bytes of the whole file, in pieces, for a run that continues from it.
    """
    try:
        if path.is_symlink() or not path.is_file():
            return {"problem": CheckpointProblem.MISSING.value}
        if path.stat().st_size > MAX_FILE:
            return {"problem": CheckpointProblem.TOO_LARGE.value}
        state = _load(path, map_location="cpu", weights_only=True)
        parts = _parts(state)
        if keep and "problem" not in parts:
            parts["file"] = split_bytes(path.read_bytes())
    except BaseException:  # noqa: BLE001 - the file may hold anything
        return {"problem": CheckpointProblem.UNREADABLE.value}
    return parts


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a transcript can carry it."""
    return (
        tensor.layout is torch.strided
        and not tensor.is_nested
        and tensor.device.type == "cpu"
        and tensor.dtype in _DTYPES
        and tensor.dim() <= _MAX_DIMENSIONS
    )


def _parts(state: Any) -> dict[str, Any]:
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, dict) or not model:
        return {"problem": CheckpointProblem.NO_MODEL.value}
    size = 0
    for name, tensor in model.items():
        if type(name) is not str or len(name) > 200:
            return {"problem": CheckpointProblem.NAME.value}
        if not isinstance(tensor, _Tensor) or not _is_plain(tensor):
            return {"problem": CheckpointProblem.TENSOR.value}
        # A tensor may claim to be larger than its storage, if it was expanded.
        bytes_of = tensor.numel() * tensor.element_size()
        size += bytes_of
        # One without elements may still claim to be large.
        longest = max(tensor.shape, default=1)
        if max(bytes_of, longest) > MAX_TENSOR or size > MAX_TENSORS or len(model) > MAX_NAMES:
            return {"problem": CheckpointProblem.TOO_LARGE.value}
    report = state.get("report")
    pairs = report.items() if isinstance(report, dict) else ()
    numbers = {
        name: float(value)
        for name, value in list(pairs)[:MAX_REPORT]
        if type(name) is str and type(value) in (int, float)
    }
    step = state.get("step")
    return {
        "tensors": {name: tensor.detach() for name, tensor in model.items()},
        "step": step if type(step) is int and 0 <= step < 2**53 else None,
        "report": numbers,
    }
