"""The judge's finding on one submission."""

from dataclasses import dataclass, field
from typing import Any

SCHEMA = "quizapp.verdict/1"
PASSED, FAILED, ERROR, TIMEOUT, MEMORY = "passed", "failed", "error", "timeout", "memory"

ISOLATION = {
    "T3": "shut off from the network, other programs and your files",
    "T2": "shut off from the network and your files",
    "T1": "memory and processes limited, files and network open",
    "T0": "a deadline alone, files and network open",
}
"""What each tier means for the code that was graded."""


def isolation(tier: str) -> str:
    """A tier with its meaning."""
    return f"isolation {tier}: {ISOLATION[tier]}" if tier in ISOLATION else f"isolation {tier}"


@dataclass(frozen=True, slots=True)
class TestResult:
    """One hidden test's part of a verdict; ``message`` is for the learner, ``seconds`` of its own run."""

    name: str
    behaviour: int
    passed: bool
    message: str = ""
    seconds: float = 0.0
    __test__ = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict as a whole; ``status`` is passed, failed, error, timeout or memory."""

    exercise: str
    file: str
    device: str
    status: str
    tests: tuple[TestResult, ...] = ()
    seconds: float = 0.0
    seed: int = 0
    tier: str = "T0"
    error: str | None = None
    printed: str = ""
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Verdict":
        """The verdict of which ``data`` is the JSON form."""
        return cls(
            exercise=data["exercise"],
            file=data["file"],
            device=data["device"],
            status=data["status"],
            tests=tuple(TestResult(**test) for test in data["tests"]),
            seconds=data["seconds"],
            seed=data["seed"],
            tier=data["tier"],
            error=data["error"],
            printed=data["printed"],
            notes=tuple(data["notes"]),
            versions=dict(data["versions"]),
        )

    @property
    def passed(self) -> bool:
        """Whether every hidden test held."""
        return self.status == PASSED

    @property
    def held(self) -> int:
        """How many hidden tests held."""
        return sum(test.passed for test in self.tests)

    def as_json(self) -> dict[str, Any]:
        """The contract of ``grade --json``."""
        return {
            "schema": SCHEMA,
            "exercise": self.exercise,
            "file": self.file,
            "device": self.device,
            "status": self.status,
            "passed": self.passed,
            "tests": [
                {
                    "name": test.name,
                    "behaviour": test.behaviour,
                    "passed": test.passed,
                    "message": test.message,
                    "seconds": round(test.seconds, 6),
                }
                for test in self.tests
            ],
            "seconds": round(self.seconds, 4),
            "seed": self.seed,
            "tier": self.tier,
            "error": self.error,
            "printed": self.printed,
            "notes": list(self.notes),
            "versions": self.versions,
        }
