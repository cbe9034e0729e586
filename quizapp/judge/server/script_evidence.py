"""What the examiner makes of a script's run: how it ended, and what its checkpoint measures.

The worker's record is parsed strictly, since the script may have forged it. ``measure.py`` belongs to the
baseline, is trusted, and never runs in a worker.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import torch

from quizapp.errors import QuizError
from quizapp.judge.protocol.scripts import ScriptOutcome
from quizapp.judge.server.evidence import RunEvidence
from quizapp.judge.server.feedback import memory_failure
from quizapp.judge.testing.checkpoint import Checkpoint, ModelChanged, hash_tensors
from quizapp.judge.testing.checks import Raised
from quizapp.judge.testing.quoting import quoted
from quizapp.judge.worker.script_probe import (
    MAX_NAMES,
    MAX_TENSOR,
    MAX_TENSORS,
    CheckpointProblem,
    join_bytes,
)
from quizapp.util.sanitize import escape_unprintable

PROBE = "script"
SCRIPT = "run.py"
MEASURE = "measure.py"
Measure = Callable[[Checkpoint, int, Mapping[str, Any]], dict[str, float]]

_FORGED = "The script put something else in place of the judge's record of its run."
# What reading a forged record may raise.
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
_LOST_PEER = "the connection to another rank closed"
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


class ScriptRequest(msgspec.Struct, tag=True):
    """Examine what the workers of one run of a script sent, one transcript per rank.

    ``folder`` is the baseline's. ``measure.py`` runs only with ``measured``, given ``seed`` and ``options``.
    """

    folder: str
    seed: int
    options: dict[str, Any]
    measured: bool
    transcripts: list[bytes]
    nonce: str
    scratch: str


class ScriptReply(msgspec.Struct, tag=True):
    """How a script ended, and what its checkpoint holds; the fields are those of `ScriptRun`.

    ``file`` holds the bytes of the checkpoint's file if the run is to be continued.
    """

    outcome: ScriptOutcome
    text: str = ""
    steps: int | None = None
    checkpoint_hash: str = ""
    metrics: dict[str, float] = {}
    changed: str = ""
    file: bytes = b""


@dataclass(frozen=True)
class ScriptEvidence:
    """How a script ended, by its worker's record. ``checkpoint`` is None if it left none that is usable."""

    outcome: ScriptOutcome
    text: str = ""
    checkpoint: Checkpoint | None = None
    file: bytes = field(default=b"", repr=False)


class ForgedRecord(Exception):
    """The record is none that the probe writes."""


def examine(request: ScriptRequest) -> ScriptReply:
    """Examine a run. Raises `QuizError` if ``measure.py`` cannot be loaded."""
    try:
        evidence = _evidence(request)
    except (ForgedRecord, MemoryError):
        return ScriptReply(ScriptOutcome.FAILED, _FORGED)
    reply = ScriptReply(evidence.outcome, escape_unprintable(evidence.text), file=evidence.file)
    if evidence.checkpoint is not None:
        reply.steps = evidence.checkpoint.step
        reply.checkpoint_hash = hash_tensors(evidence.checkpoint.tensors)
        if request.measured:
            folder = Path(request.folder)
            metrics, changed = measure_checkpoint(folder, evidence.checkpoint, request.seed, request.options)
            reply.metrics, reply.changed = metrics, escape_unprintable(changed)
    return reply


def _evidence(request: ScriptRequest) -> ScriptEvidence:
    """The evidence of all ranks: rank 0's, unless another one failed."""
    run = RunEvidence()
    run.add_transcripts(request.transcripts, (PROBE,), request.nonce, SCRIPT, Path(request.scratch))
    if run.failure is not None:
        return ScriptEvidence(ScriptOutcome.FAILED, run.failure.text)
    world = len(request.transcripts)
    prefixes = [f"{PROBE}/world{world}/rank{rank}/" if world > 1 else f"{PROBE}/" for rank in range(world)]
    ranks = [
        {path.removeprefix(prefix): value for path, value in run.values.items() if path.startswith(prefix)}
        for prefix in prefixes
    ]
    for prefix in prefixes:
        # The probe itself raises nothing, unless memory runs out while it records.
        if (details := run.errors.get(prefix.rstrip("/"))) is not None:
            return _out_of_memory(Raised(details, SCRIPT)) or ScriptEvidence(ScriptOutcome.FAILED, _FORGED)
    endings = [(rank, ended) for rank, values in enumerate(ranks) if (ended := _ending(values)) is not None]
    if world == 1 or not endings:
        return read_record(ranks[0])
    # Where one rank fails, the others lose their connection to it: the first other failure explains more.
    rank, ended = next((pair for pair in endings if _LOST_PEER not in pair[1].text), endings[0])
    return ScriptEvidence(ended.outcome, f"Rank {rank} of {world}: {ended.text}")


def read_record(values: Mapping[str, Any]) -> ScriptEvidence:
    """Read what `script_probe` recorded about one rank. Raises `ForgedRecord` if it is malformed."""
    ended = _ending(values)
    if ended is not None and ended.outcome == ScriptOutcome.REFUSED:
        return ended
    try:
        if "problem" in values:
            problem = _PROBLEMS[CheckpointProblem(values["problem"])]
            return ended or ScriptEvidence(ScriptOutcome.NO_CHECKPOINT, problem)
        checkpoint = Checkpoint(_tensors(values["tensors"]), _step(values["step"]), _report(values["report"]))
        file = join_bytes(values.get("file", []))
    except _MALFORMED as error:
        raise ForgedRecord(str(error)) from None
    outcome, text = (ended.outcome, ended.text) if ended else (ScriptOutcome.ENDED, "")
    return ScriptEvidence(outcome, text, checkpoint, file)


def _ending(values: Mapping[str, Any]) -> ScriptEvidence | None:
    """How the script ended, if it did not simply come to its end."""
    try:
        if "refused" in values:
            raised = Raised(values["refused"], SCRIPT)
            where = f"Line {raised.line} of {SCRIPT}" if raised.line else SCRIPT
            message = f": {quoted(raised.message)}" if raised.message else ""
            return ScriptEvidence(ScriptOutcome.REFUSED, f"{where} is not valid Python{message}.")
        if "failed" in values:
            raised = Raised(values["failed"], SCRIPT)
            where = f" in line {raised.line} of {SCRIPT}" if raised.line else ""
            message = f": {quoted(raised.message)}" if raised.message else ""
            text = f"The script raised {raised.types[0]}{where}{message}."
            return _out_of_memory(raised) or ScriptEvidence(ScriptOutcome.FAILED, text)
        if "exit" in values:
            text = f"The script ended with exit status {int(values['exit'])}."
            return ScriptEvidence(ScriptOutcome.FAILED, text)
    except _MALFORMED as error:
        raise ForgedRecord(str(error)) from None
    return None


def _out_of_memory(raised: Raised) -> ScriptEvidence | None:
    if not raised.is_memory:
        return None
    return ScriptEvidence(ScriptOutcome.KILLED, memory_failure(raised, SCRIPT).text)


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
    """Measure a checkpoint with the baseline's ``measure.py``: the metrics, or why there are none.

    Raises `QuizError` if ``measure.py`` cannot be loaded.
    """
    path = folder / MEASURE
    try:
        measure = _load_measure(path, path.stat().st_mtime_ns)
    except Exception as error:
        text = f"{path} cannot be loaded: {type(error).__name__}: {error}; correct it."
        raise QuizError(text) from error
    try:
        metrics = measure(checkpoint, seed, options)
        return {str(name): float(value) for name, value in metrics.items()}, ""
    except ModelChanged as error:
        return {}, str(error)
    except Exception as error:  # noqa: BLE001 - a script may leave tensors that nobody has thought of
        return {}, f"The checkpoint cannot be measured: {type(error).__name__}, {quoted(str(error)[:200])}."


@lru_cache(16)
def _load_measure(path: Path, changed: int) -> Measure:  # noqa: ARG001 - an edited file must be read again
    namespace: dict[str, Any] = {"__name__": "baseline_measure", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), namespace)  # noqa: S102
    measure: Measure = namespace["measure"]
    return measure
