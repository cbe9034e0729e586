"""The judge's verdict on one submission, and its JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from quizapp.bank.model import ONLY_STAGE

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise

Schema = Literal["quizapp.verdict/1"]
SCHEMA: Schema = "quizapp.verdict/1"

ISOLATION = {
    "T3": "shut off from the network, other programs and your files",
    "T2": "shut off from the network and your files",
    "T1": "memory and processes limited, files and network open",
    "T0": "a deadline alone, files and network open",
}
"""What each isolation tier means for the code that was graded."""

NO_CUDA_NOTE = "No CUDA device here: graded on the CPU."
"""A note for device ``auto``. Views for people may drop it, since they name the device anyway."""


def isolation(tier: str) -> str:
    """Describe a tier with its meaning."""
    return f"isolation {tier}: {ISOLATION[tier]}" if tier in ISOLATION else f"isolation {tier}"


class VerdictStatus(StrEnum):
    """How a grade ended. All but the first two mean that there is no complete evidence."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"


class TestResultJson(TypedDict):
    """One hidden test's part of a verdict."""

    name: str
    behaviour: int
    stage: str
    passed: bool
    message: str
    seconds: float


class StageResultJson(TypedDict):
    """One stage's part of a verdict."""

    name: str
    passed: bool


class VerdictJson(TypedDict):
    """What ``quizapp grade --json`` prints for one submission."""

    schema: Schema
    exercise: str
    file: str
    device: str
    status: VerdictStatus
    passed: bool
    stages: list[StageResultJson]
    tests: list[TestResultJson]
    recognized: list[str]
    seconds: float
    seed: int
    tier: str
    error: str | None
    printed: str
    notes: list[str]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class TestResult:
    """One hidden test's part of a verdict.

    ``message`` is for the learner and empty if the test passed. ``seconds`` is the test's own running time.
    ``stage`` names the stage of the exercise to which the behavior belongs. ``recognized`` says that the
    result is the one that a known mistake produces, which the message names.
    """

    name: str
    behaviour: int
    passed: bool
    message: str = ""
    seconds: float = 0.0
    stage: str = ONLY_STAGE
    recognized: bool = False
    __test__ = False  # otherwise pytest would collect this class

    def as_json(self) -> TestResultJson:
        """This result as a part of `Verdict.as_json`."""
        return {
            "name": self.name,
            "behaviour": self.behaviour,
            "stage": self.stage,
            "passed": self.passed,
            "message": self.message,
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True)
class StageResult:
    """Whether every hidden test of a stage passed."""

    name: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's verdict on one submission.

    ``stages`` lists the stages that were asked for, in order; verdicts that were stored before exercises had
    stages list none. ``error`` says why there is no evidence. ``printed`` is what the submission printed.
    ``notes`` are about the device and the isolation. ``versions`` holds the source's hash and the versions
    that graded it.
    """

    exercise: str
    file: str
    device: str
    status: VerdictStatus
    tests: tuple[TestResult, ...] = ()
    seconds: float = 0.0
    seed: int = 0
    tier: str = "T0"
    error: str | None = None
    printed: str = ""
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    stages: tuple[StageResult, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Verdict":
        """The verdict whose JSON form is ``data``. Raises `KeyError`, `TypeError` or `ValueError`."""
        recognized = data.get("recognized", ())
        return cls(
            exercise=data["exercise"],
            file=data["file"],
            device=data["device"],
            status=VerdictStatus(data["status"]),
            tests=tuple(
                TestResult(**{**test, "recognized": test["name"] in recognized}) for test in data["tests"]
            ),
            seconds=data["seconds"],
            seed=data["seed"],
            tier=data["tier"],
            error=data["error"],
            printed=data["printed"],
            notes=tuple(data["notes"]),
            versions=dict(data["versions"]),
            stages=tuple(StageResult(**stage) for stage in data.get("stages", ())),
        )

    @property
    def passed(self) -> bool:
        """Whether every hidden test passed."""
        return self.status == VerdictStatus.PASSED

    @property
    def held(self) -> int:
        """How many hidden tests passed."""
        return sum(test.passed for test in self.tests)

    @property
    def failing_behaviours(self) -> set[int]:
        """The numbers of the behaviors for which a hidden test failed."""
        return {test.behaviour for test in self.tests if not test.passed}

    def as_json(self) -> VerdictJson:
        """The JSON form, which ``grade --json`` prints."""
        return {
            "schema": SCHEMA,
            "exercise": self.exercise,
            "file": self.file,
            "device": self.device,
            "status": self.status,
            "passed": self.passed,
            "stages": [{"name": stage.name, "passed": stage.passed} for stage in self.stages],
            "tests": [test.as_json() for test in self.tests],
            "recognized": [test.name for test in self.tests if test.recognized],
            "seconds": round(self.seconds, 4),
            "seed": self.seed,
            "tier": self.tier,
            "error": self.error,
            "printed": self.printed,
            "notes": list(self.notes),
            "versions": self.versions,
        }


class ProgramOutcome(StrEnum):
    """How a learner's test ended on one program."""

    HELD = "held"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A learner's test on one program. ``text`` says in a sentence why it did not hold."""

    outcome: ProgramOutcome
    text: str = ""

    @property
    def held(self) -> bool:
        """Whether the test passed."""
        return self.outcome == ProgramOutcome.HELD


def ordered_hints(exercise: "Exercise", verdict: Verdict | None = None) -> list[str]:
    """All hints of an exercise in the order to show them, beginning with those that help with what fails.

    Apart from that they keep their order, from a nudge to nearly the answer. A hint that names no behavior
    helps with all of them.
    """
    failing = set() if verdict is None else verdict.failing_behaviours

    def helps(behaviours: tuple[int, ...]) -> bool:
        return not behaviours or not failing or bool(failing & set(behaviours))

    return [hint.text for hint in sorted(exercise.hints, key=lambda hint: not helps(hint.behaviours))]
