"""What the examiner makes of a script's run: how it ended, and what its checkpoint measures.

The worker's record is parsed strictly, since the script may have forged it. ``measure.py`` belongs to the
baseline, is trusted, and never runs in a worker.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from quizapp.errors import QuizError
from quizapp.judge.protocol.scripts import ScriptOutcome
from quizapp.judge.testing.checkpoint import Checkpoint, ModelChanged
from quizapp.judge.testing.checks import Raised
from quizapp.judge.testing.quoting import quoted
from quizapp.judge.worker.script_probe import MAX_NAMES, MAX_TENSOR, MAX_TENSORS, CheckpointProblem

MEASURE = "measure.py"
Measure = Callable[[Checkpoint, int, Mapping[str, Any]], dict[str, float]]

_PROBLEMS = {
    CheckpointProblem.MISSING: "The script came to its end without leaving a checkpoint.pt.",
    CheckpointProblem.UNREADABLE: "checkpoint.pt cannot be loaded: torch.save must have written it, and it "
    "may hold only tensors, numbers, texts, lists and dicts.",
    CheckpointProblem.NO_MODEL: "checkpoint.pt has no entry 'model' that is a dict of tensors.",
    CheckpointProblem.NAME: "In checkpoint.pt, an entry of 'model' has a name that is not a short text.",
    CheckpointProblem.TENSOR: "In checkpoint.pt, an entry of 'model' is not a plain tensor.",
    CheckpointProblem.TOO_LARGE: "checkpoint.pt holds more than the judge accepts: "
    f"{MAX_NAMES:,} tensors of {MAX_TENSOR >> 20} MiB each, {MAX_TENSORS >> 20} MiB in all.",
}


@dataclass(frozen=True)
class ScriptEvidence:
    """How a script ended, by its worker's record. ``checkpoint`` is None if it left none that is usable."""

    outcome: ScriptOutcome
    text: str = ""
    checkpoint: Checkpoint | None = None
    file: bytes = field(default=b"", repr=False)


class ForgedRecord(Exception):
    """The record is none that the probe writes."""


def read_record(values: Mapping[str, Any], script: str) -> ScriptEvidence:
    """Read what `script_probe` recorded about the run of rank 0. ``script`` is the name of its file.

    Raises `ForgedRecord` if it is malformed.
    """
    try:
        ended = _ending(values, script)
        if ended is not None and ended.outcome == ScriptOutcome.REFUSED:
            return ended
        if "problem" in values:
            problem = _PROBLEMS[CheckpointProblem(values["problem"])]
            return ended or ScriptEvidence(ScriptOutcome.NO_CHECKPOINT, problem)
        checkpoint = Checkpoint(_tensors(values["tensors"]), _step(values["step"]), _report(values["report"]))
        file = b"".join(piece.numpy().tobytes() for piece in values.get("file", []))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForgedRecord(str(error)) from None
    outcome, text = (ended.outcome, ended.text) if ended else (ScriptOutcome.ENDED, "")
    return ScriptEvidence(outcome, text, checkpoint, file)


def _ending(values: Mapping[str, Any], script: str) -> ScriptEvidence | None:
    """How the script ended, if it did not simply come to its end."""
    if "refused" in values:
        raised = Raised(values["refused"], script)
        where = f"Line {raised.line} of {script}" if raised.line else script
        message = f": {quoted(raised.message)}" if raised.message else ""
        return ScriptEvidence(ScriptOutcome.REFUSED, f"{where} is not valid Python{message}.")
    if "failed" in values:
        raised = Raised(values["failed"], script)
        where = f" in line {raised.line} of {script}" if raised.line else ""
        message = f": {quoted(raised.message)}" if raised.message else ""
        return ScriptEvidence(ScriptOutcome.FAILED, f"The script raised {raised.types[0]}{where}{message}.")
    if "exit" in values:
        status = int(values["exit"])
        return ScriptEvidence(ScriptOutcome.FAILED, f"The script ended with exit status {status}.")
    return None


def _tensors(value: Any) -> dict[str, torch.Tensor]:
    if not isinstance(value, dict) or not value or len(value) > MAX_NAMES:
        raise TypeError("not a dict of tensors")
    for name, tensor in value.items():
        if type(name) is not str or not isinstance(tensor, torch.Tensor) or tensor.device.type != "cpu":
            raise TypeError("not a dict of tensors")
    return value


def _step(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is not int:
        raise TypeError("a step is a whole number")
    return value


def _report(value: Any) -> dict[str, float]:
    return {str(name): float(number) for name, number in dict(value).items()}


def measure_checkpoint(
    folder: Path, checkpoint: Checkpoint, seed: int, options: Mapping[str, Any]
) -> tuple[dict[str, float], str]:
    """Measure a checkpoint with the baseline's ``measure.py``: the metrics, or why the model is another.

    Raises `QuizError` if ``measure.py`` is broken.
    """
    path = folder / MEASURE
    try:
        measure = _load_measure(path, path.stat().st_mtime_ns)
        metrics = measure(checkpoint, seed, options)
        return {str(name): float(value) for name, value in metrics.items()}, ""
    except ModelChanged as error:
        return {}, str(error)
    except MemoryError:
        raise
    except Exception as error:
        text = f"{path} cannot measure the checkpoint: {type(error).__name__}: {error}; correct it."
        raise QuizError(text) from error


@lru_cache(16)
def _load_measure(path: Path, changed: int) -> Measure:  # noqa: ARG001 - an edited file must be read again
    namespace: dict[str, Any] = {"__name__": "baseline_measure", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), namespace)  # noqa: S102
    measure: Measure = namespace["measure"]
    return measure
