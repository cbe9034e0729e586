"""An order to run a training script, and what became of the run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

Band = Mapping[str, Sequence[float]]
"""Per metric, the lowest and the highest value of a healthy run."""

MAX_LOG = 200_000
"""Characters of a script's log that are kept and shown."""


@dataclass(frozen=True)
class ScriptOrder:
    """An order to run ``source``, a version of the script of the baseline in ``folder``, as a program.

    The script is started as ``run.py --seed SEED``, with ``--steps`` if ``steps`` is given. With ``resume``
    it is stopped after half of ``steps``, which must be given, and continued by another process with
    ``--resume``. ``ranks`` processes form a group. Each process has ``seconds``. ``measured`` asks the judge
    to measure the checkpoint with the baseline's ``measure.py``, which gets ``options``. ``tier`` forces a
    lower isolation.
    """

    folder: Path
    source: str
    seed: int
    steps: int | None = None
    resume: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    measured: bool = False
    seconds: float = 60.0
    ranks: int = 1
    tier: str | None = None


class ScriptOutcome(StrEnum):
    """How a run of a script ended."""

    ENDED = "ended"  # it came to its end and left a checkpoint that can be read
    FAILED = "failed"  # an exception, or an exit status other than 0
    TIMEOUT = "timeout"
    KILLED = "killed"  # for its memory, its files or its threads, or by a signal
    NO_CHECKPOINT = "no checkpoint"  # it came to its end, but what it left cannot be used
    REFUSED = "refused"  # it never started, for example because it is not valid Python
    CANCELED = "canceled"


@dataclass(frozen=True)
class ScriptRun:
    """What became of one run of a script.

    ``text`` is one sentence for the learner, with the script's line if it failed; empty for a run that ended.
    ``log`` is what the script printed, capped. ``steps`` is the step that the checkpoint claims.
    ``checkpoint_hash`` covers names, dtypes, shapes and bytes of the model's tensors; it is empty without a
    checkpoint. ``metrics`` is what the judge measured: empty if it was not asked to, or could not.
    ``changed`` says why the tensors are not those of the baseline's model, if so.
    """

    outcome: ScriptOutcome
    text: str = ""
    log: str = ""
    seconds: float = 0.0
    seed: int = 0
    steps: int | None = None
    checkpoint_hash: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    changed: str = ""

    @property
    def ended(self) -> bool:
        """Whether the script came to its end and left a checkpoint."""
        return self.outcome == ScriptOutcome.ENDED

    def healthy(self, band: Band) -> bool:
        """Whether the script ended and every metric of ``band`` was measured and is inside it."""
        return self.ended and bool(band) and not self.outside(band)

    def outside(self, band: Band) -> list[str]:
        """The metrics of ``band`` that were not measured or are not inside it. NaN is inside no band."""
        return [
            name for name, (low, high) in band.items() if not low <= self.metrics.get(name, math.nan) <= high
        ]

    def as_message(self) -> dict[str, Any]:
        """The run as a JSON object."""
        return vars(self) | {"metrics": dict(self.metrics)}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The run in a JSON object. Raises `KeyError`, `TypeError` or `ValueError` if it is malformed."""
        return cls(**{**message, "outcome": ScriptOutcome(message["outcome"])})
