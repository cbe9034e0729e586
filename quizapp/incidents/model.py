"""Incidents: broken training runs with stored readings, and the vocabulary for diagnosing them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quizapp.bank.model import Fault, Misconception

if TYPE_CHECKING:
    from quizapp.judge.authoring.mutants import MutantEdit

NO_FAULT = "no-fault"
NOTHING = "nothing"
CONTROL = "control-run"
ONE_BATCH = "one-batch"
SECTIONS = ("reproduce", "fix", "explain")
CARD = "incident:"


@dataclass(frozen=True, slots=True)
class Reading:
    """An instrument. ``seconds`` is its price. ``asks`` defines the quantity that ``outcomes`` describe."""

    id: str
    title: str
    seconds: int
    asks: str
    outcomes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause to choose from. ``expects`` maps readings to the outcomes measured with the fault planted."""

    id: str
    text: str
    place: str
    expects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def excluded_by(self, reading: str, outcome: str) -> bool:
        """Whether this cause never gave the outcome. A reading without measurements excludes nothing."""
        return reading in self.expects and outcome not in self.expects[reading]


@dataclass(frozen=True, slots=True)
class StatePart:
    """A part of a run's state.

    ``right`` says whether a replay must restore it, unless the incident lists these parts itself.
    """

    id: str
    text: str
    right: bool


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """The result of a reading in the stored run: its outcome, and its numbers as text."""

    outcome: str
    shows: str


@dataclass(frozen=True, slots=True)
class RubricPoint:
    """One checkable statement of a full answer. ``verify`` marks those about proving the fix."""

    text: str
    weight: int
    terms: tuple[str, ...]
    verify: bool = False
    line: int = 1


@dataclass(frozen=True, slots=True)
class LiveSymptom:
    """What a run of the broken script shows in its log: a condition on ``field`` at step ``at``.

    Exactly one condition is set. ``at`` is None if any step may show it. ``equal_to`` names another field.
    """

    field: str
    at: int | None = None
    above: float | None = None
    below: float | None = None
    non_finite: bool = False
    equal_to: str = ""


@dataclass(frozen=True, slots=True)
class LiveForm:
    """How an incident is repaired live: a baseline's script, and the edits that break it.

    ``setup`` edits the script for this incident, ``edits`` plant the fault in the result (none in a false
    alarm). ``decoys`` holds, by cause, what somebody who believes it would change in the broken script, and
    ``right`` other right fixes of it. ``measure`` are options for ``measure.py``. ``band`` replaces entries
    of the baseline's. ``guard`` are the lines of a reference guard, which belong after the line
    ``guard_at``. ``steps`` is None if a run has as many as the baseline's. ``seed`` is that of the broken run
    that the learner sees, the one of the stored readings. With ``resume``, every run is stopped halfway and
    continued.
    """

    baseline: str
    edits: tuple["MutantEdit", ...]
    decoys: Mapping[str, tuple["MutantEdit", ...]]
    guard: str
    guard_at: str
    symptom: LiveSymptom
    minimal_steps: int
    setup: tuple["MutantEdit", ...] = ()
    right: tuple[tuple["MutantEdit", ...], ...] = ()
    measure: Mapping[str, Any] = field(default_factory=dict)
    band: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    steps: int | None = None
    seed: int = 0
    resume: bool = False
    line: int = 1


@dataclass(frozen=True, slots=True)
class Incident:
    """One broken run. Several incidents can share a ``fault_class``; cards are scheduled per class."""

    id: str
    fault_class: str
    level: str
    topic: str
    exercise: str
    title: str
    setup: str
    symptom: str
    one_batch: str
    cause: str
    offered: tuple[str, ...]
    decoys: tuple[str, ...]
    readings: Mapping[str, ReadingResult]
    points: Mapping[str, tuple[RubricPoint, ...]]
    hints: tuple[str, ...]
    answer: str
    misconceptions: tuple[Misconception, ...] = ()
    sources: tuple[str, ...] = ()
    file: str = ""
    line: int = 1
    content_hash: str = ""
    live: LiveForm | None = None
    state: tuple[str, ...] = ()

    def restores(self, part: StatePart) -> bool:
        """Whether a replay of this run must restore the part. ``state`` lists these parts, if it is given."""
        return part.id in self.state if self.state else part.right

    @property
    def name(self) -> str:
        """The title as one word to type. Lists show it instead of the id, because the id names the fault."""
        return "-".join(re.findall(r"\w+", self.title.casefold()))

    @property
    def card(self) -> str:
        """The id of the card that its outcome schedules."""
        return CARD + self.fault_class

    @property
    def false_alarm(self) -> bool:
        """Whether the run is healthy."""
        return self.cause == NO_FAULT


@dataclass(frozen=True, slots=True)
class IncidentLibrary:
    """The valid incidents with their vocabulary, and the faults of those that were left out."""

    readings: Mapping[str, Reading] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    states: tuple[StatePart, ...] = ()
    causes: Mapping[str, Cause] = field(default_factory=dict)
    incidents: Mapping[str, Incident] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
