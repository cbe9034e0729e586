"""What a running interview is: phases, items and clock, without the rules that move them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from quizapp.interview.session.clock import Steady, steady
from quizapp.interview.session.question import CUT, FROZEN, SKIPPED, WAITING, InterviewQuestion

ENDED = "ended"


@dataclass(slots=True)
class PhaseTime:
    """A phase, its seconds, and how much of it passed."""

    name: str
    title: str
    seconds: int
    used_ms: int = 0

    @property
    def over(self) -> bool:
        """Whether its time is used up."""
        return self.used_ms >= self.seconds * 1000


@dataclass(slots=True)
class SessionState:
    """The state itself; the classes built on it change it and return what to tell the learner."""

    phases: list[PhaseTime]
    items: list[InterviewQuestion]
    clock: Steady = steady
    elapsed_ms: int = 0
    phase: int = 0
    current: int | None = None
    state: str = "running"
    log: list[dict[str, Any]] = field(default_factory=list)
    changed: bool = True  # since the last save, apart from the clock
    _last: float | None = None
    _rest: float = 0.0

    @property
    def length_ms(self) -> int:
        """The length of the interview."""
        return 1000 * sum(phase.seconds for phase in self.phases)

    @property
    def left_ms(self) -> int:
        """What is left of it."""
        return max(0, self.length_ms - self.elapsed_ms)

    @property
    def item(self) -> InterviewQuestion | None:
        """The item in hand."""
        return None if self.current is None else self.items[self.current]

    @property
    def now(self) -> PhaseTime:
        """The present phase."""
        return self.phases[self.phase]

    @property
    def ended(self) -> bool:
        """Whether the clock has stopped for good."""
        return self.state == ENDED

    def in_phase(self, number: int | None = None) -> list[InterviewQuestion]:
        """The items of a phase (default: the present one)."""
        name = self.phases[self.phase if number is None else number].name
        return [item for item in self.items if item.phase == name]

    @property
    def answered(self) -> int:
        """How many items were answered, or cut with what was written."""
        return sum(item.state in {FROZEN, CUT} for item in self.items)

    def can_open(self, number: int) -> bool:
        """Whether an item may be opened now: in the present phase, not closed, time left."""
        item = self.items[number]
        return not self.ended and item.phase == self.now.name and item.state in {WAITING, SKIPPED}

    def _note(self, event: str, **facts: Any) -> None:
        self.log.append({"at_ms": self.elapsed_ms, "event": event, **facts})
        self.changed = True

    def as_json(self) -> dict[str, Any]:
        """Everything that a resume needs."""
        return {
            "elapsed_ms": self.elapsed_ms,
            "phase": self.phase,
            "current": self.current,
            "state": self.state,
            "phases": [asdict(phase) for phase in self.phases],
            "events": list(self.log),
            "items": [item.as_json() for item in self.items],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], clock: Steady = steady) -> Self:
        """The session of which ``data`` is the JSON form; call ``resume`` next where it still runs."""
        return cls(
            [PhaseTime(**phase) for phase in data["phases"]],
            [InterviewQuestion.from_json(item) for item in data["items"]],
            clock,
            data["elapsed_ms"],
            data["phase"],
            data["current"],
            data["state"],
            list(data["events"]),
        )


def phases_of(seconds: Sequence[tuple[str, int]], titles: Mapping[str, str]) -> list[PhaseTime]:
    """The phases of a paper."""
    return [PhaseTime(name, titles[name], total) for name, total in seconds]
