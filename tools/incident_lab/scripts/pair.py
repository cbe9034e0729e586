"""A broken program beside its healthy version, with the re-runs that readings need."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from quizapp.judge.authoring.mutants import MutantEdit, apply_edits
from tools.incident_lab.scripts.program import ScriptRecord, run_script

OTHER_SEED = 10
LAST = 16


@dataclass(frozen=True)
class ScriptPair:
    """A program and the healthy one to compare it with, both run with ``seed``.

    Runs are the expensive part, so each is made only when a reading first needs it.
    """

    source: str
    sound: str
    lab: "ScriptLab"
    seed: int

    @cached_property
    def run(self) -> ScriptRecord:
        """The recorded run."""
        return self._record(self.source)

    @cached_property
    def healthy(self) -> ScriptRecord:
        """The run without the fault, with the same seed."""
        return self._record(self.sound)

    @cached_property
    def other(self) -> ScriptRecord:
        """The run with another seed."""
        return self._record(self.source, self.seed + OTHER_SEED)

    @cached_property
    def slow(self) -> ScriptRecord:
        """The run at a tenth of its learning rate."""
        return self._record(scale_constant(self.source, self.lab.rate, 0.1))

    @cached_property
    def fixed(self) -> ScriptRecord:
        """The run on one fixed batch."""
        source = set_constants(self.source, self.lab.one_batch_constants)
        return self._record(apply_edits(source, self.lab.one_batch))

    def _record(self, source: str, seed: int | None = None) -> ScriptRecord:
        return run_script(source, self.seed if seed is None else seed, ranks=self.lab.ranks)


# A reading gives an outcome of causes.yaml and what it shows, or None where it makes no sense for the run.
ScriptReading = Callable[[ScriptPair], tuple[str, str] | None]


@dataclass(frozen=True)
class ScriptLab:
    """What the laboratory knows about a baseline.

    ``rate`` is the constant with the learning rate. ``one_batch_constants`` and ``one_batch`` change the
    script so that every step trains on the same batch. ``plants`` breaks the healthy script by causes that
    have no incident of their own here. ``readings`` are in the order of offer.
    """

    readings: dict[str, ScriptReading]
    rate: str = "RATE"
    ranks: int = 1
    one_batch_constants: dict[str, str] = field(default_factory=dict)
    one_batch: tuple[MutantEdit, ...] = ()
    plants: dict[str, tuple[MutantEdit, ...]] = field(default_factory=dict)


def set_constants(source: str, values: dict[str, str]) -> str:
    """Give constants at the top of a script other values. Raises ``ValueError`` if one is missing."""
    for name, value in values.items():
        match = re.search(rf"^{name} = .*$", source, re.MULTILINE)
        if match is None:
            raise ValueError(f"the script has no constant {name}")
        source = f"{source[: match.start()]}{name} = {value}{source[match.end() :]}"
    return source


def scale_constant(source: str, name: str, factor: float) -> str:
    """Multiply a constant at the top of a script."""
    match = re.search(rf"^{name} = (\S+)", source, re.MULTILINE)
    if match is None:
        raise ValueError(f"the script has no constant {name}")
    return set_constants(source, {name: f"{float(match[1]) * factor:.6g}"})


def end(values: Sequence[float]) -> float:
    """Return the mean of the last 16 values, NaN if there are none."""
    last = values[-LAST:]
    return sum(last) / len(last) if last else math.nan


def ratio(value: float, reference: float, factor: float) -> str:
    """Return up above ``factor`` times the reference, down below its inverse (0.75 for 1.25), else flat."""
    if not math.isfinite(value):
        return "non-finite"
    low = 0.75 if factor == 1.25 else 1 / factor
    return "up" if value > factor * reference else "down" if value < low * reference else "flat"
