"""Decides which question is open: opens, skips and closes questions, and moves through the phases."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta, Struct

from quizapp.interview.session.question import (
    ABANDONED,
    CONFIDENCE,
    CUT,
    FOLLOW_UP,
    FROZEN,
    LOST,
    OPEN,
    SKIPPED,
    UNREACHED,
    WAITING,
    InterviewQuestion,
    QuestionState,
)

ABANDONED_SHARE = 0.3
"""An empty question counts as abandoned once this share of its budget was used, before as not reached."""


# These limits appear only in the published schema. A stored document that breaks one must still open.
Milliseconds = Annotated[int, Meta(extra_json_schema={"minimum": 0})]
Count = Annotated[int, Meta(extra_json_schema={"minimum": 0})]


class SessionEvent(StrEnum):
    """An effect of a learner's action or of the clock, for the screen to show."""

    ITEM = "item"
    PHASE = "phase"
    CONFIDENCE = "confidence"
    FOLLOW_UP = "probe"
    LAST = "last"
    CUT = "cut"
    LOST = "lost"
    END = "end"
    HALF_TIME = "mark-50"
    LITTLE_TIME = "mark-90"
    READING = "reading"
    HINT = "hint"


class ClockEventType(StrEnum):
    """The type of an entry in the log of an interview's clock."""

    START = "start"
    LOST = "lost"
    RESUMED = "resumed"
    CUT = "cut"
    END = "end"
    READING = "reading"
    HINT = "hint"
    RUN = "run"


class ClockEvent(Struct, omit_defaults=True):
    """An entry in the clock's log.

    ``lost`` events have ``ms``, ``end`` has ``why``. Events about a question have its number as ``item``.
    """

    at_ms: Milliseconds
    event: ClockEventType
    ms: Milliseconds | None = None
    why: str | None = None
    item: int | None = None
    lost: bool | None = None
    reading: str | None = None
    seconds: Count | None = None


class PhaseTime(Struct):
    """A phase, its length in seconds, and the time used so far."""

    name: str
    title: str
    seconds: int
    used_ms: int = 0

    @property
    def over(self) -> bool:
        """Whether its time is used up."""
        return self.used_ms >= self.seconds * 1000


class SessionStatus(StrEnum):
    """Whether the clock of an interview is still running."""

    RUNNING = "running"
    ENDED = "ended"


class SessionState(Struct):
    """Everything that a resume needs. ``current`` is the number of the current question."""

    phases: list[PhaseTime]
    items: list[InterviewQuestion]
    elapsed_ms: int = 0
    phase: int = 0
    current: int | None = None
    state: SessionStatus = SessionStatus.RUNNING
    events: list[ClockEvent] = []

    def as_json(self) -> dict[str, Any]:
        """Return the stored form."""
        bare = msgspec.structs.replace(self, items=[])
        stored: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(bare))
        return {**stored, "items": [item.as_json() for item in self.items]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a stored state. ``data`` may have more keys."""
        items = [InterviewQuestion.from_json(item) for item in data["items"]]
        state = msgspec.convert({**data, "items": []}, cls)
        state.items = items
        return state


class QuestionFlow:
    """Moves from question to question and from phase to phase.

    Each move returns its events. ``changed`` is set by every change except the passing of time.
    """

    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.changed = True

    @property
    def item(self) -> InterviewQuestion | None:
        """The current question."""
        return None if self.state.current is None else self.state.items[self.state.current]

    @property
    def now(self) -> PhaseTime:
        """The current phase."""
        return self.state.phases[self.state.phase]

    @property
    def ended(self) -> bool:
        """Whether the clock has stopped for good."""
        return self.state.state is SessionStatus.ENDED

    def in_phase(self, number: int | None = None) -> list[InterviewQuestion]:
        """The questions of a phase (default: the current one)."""
        name = self.state.phases[self.state.phase if number is None else number].name
        return [item for item in self.state.items if item.phase == name]

    def can_open(self, number: int) -> bool:
        """Whether a question may be opened now: it is in the current phase and neither open nor closed."""
        item = self.state.items[number]
        return not self.ended and item.phase == self.now.name and item.state in (WAITING, SKIPPED)

    def note(self, event: ClockEventType, **facts: Any) -> None:
        """Write an event to the log."""
        self.state.events.append(ClockEvent(self.state.elapsed_ms, event, **facts))
        self.changed = True

    def open(self, number: int) -> list[SessionEvent]:
        """Open a question of the phase and skip the current one. A closed question never opens again."""
        if not self.can_open(number):
            return []
        here = self.item
        if here is not None and here.number != number:
            if here.state != OPEN:
                return []
            here.state = SKIPPED
        item = self.state.items[number]
        item.state = OPEN
        if item.opened_ms is None:
            item.opened_ms = self.state.elapsed_ms
        self.state.current = number
        self.changed = True
        return [SessionEvent.ITEM]

    def open_next(self) -> list[SessionEvent]:
        """Open the next question of the phase, skipped ones last, or leave the phase if none is left."""
        items = self.in_phase()
        if not items:
            return []
        if self.now.over:
            return self.leave_phase()
        for state in (WAITING, SKIPPED):
            for item in items:
                if item.state == state:
                    return self.open(item.number)
        return self.leave_phase()

    def skip(self) -> list[SessionEvent]:
        """Skip the current question. It can be opened again until the phase ends."""
        item = self.item
        if item is None or item.state != OPEN:
            return []
        others = [other for other in self.in_phase() if self.can_open(other.number)]
        if not others:
            return [SessionEvent.LAST]
        waiting = [other for other in others if other.state == WAITING]
        later = [other for other in others if other.number > item.number]
        return self.open((waiting or later or others)[0].number)

    def enter_phase(self, number: int) -> list[SessionEvent]:
        """Start a phase and open its first question."""
        self.state.phase = number
        self.state.current = None
        self.changed = True
        return [SessionEvent.PHASE, *self.open_next()]

    def leave_phase(self, *, lost: bool = False) -> list[SessionEvent]:
        """Close the open questions of the phase and go to the next phase.

        With ``lost`` the learner is away, so no question of the next phase is opened.
        """
        for item in self.in_phase():
            self._put_away(item)
        self.state.current = None
        if self.state.phase + 1 == len(self.state.phases):
            return self.end("done")
        if lost:
            self.state.phase += 1
            return [SessionEvent.PHASE]
        return self.enter_phase(self.state.phase + 1)

    def end(self, why: str = "early") -> list[SessionEvent]:
        """End the interview. Open answers are frozen as they are; the other questions were not reached."""
        if self.ended:
            return []
        for item in self.state.items:
            self._put_away(item)
        self.state.current = None
        self.state.state = SessionStatus.ENDED
        self.note(ClockEventType.END, why=why)
        return [SessionEvent.END]

    def follow_up_or_next(self, item: InterviewQuestion) -> list[SessionEvent]:
        """Ask the next follow-up if the phase has time, else close the question and open the next."""
        waiting = next((row for row in item.follow_ups if row.state == WAITING), None)
        if waiting is not None and not self.now.over:
            waiting.state = OPEN
            item.state = FOLLOW_UP
            item.warned = 0
            self.changed = True
            return [SessionEvent.FOLLOW_UP]
        self._close(item, FROZEN)
        return self.open_next()

    def cut(self, item: InterviewQuestion, *, lost: bool) -> list[SessionEvent]:
        """Close the current answer or follow-up at its limit. With ``lost`` the learner was away."""
        self.note(ClockEventType.CUT, item=item.number, lost=lost)
        follow_up = item.open_follow_up
        if follow_up is None:
            self._close(item, LOST if lost else CUT)
            item.frozen_ms = self.state.elapsed_ms
            return [SessionEvent.CUT] if lost else [SessionEvent.CUT, *self.open_next()]
        follow_up.state = LOST if lost else CUT
        item.frozen_ms = item.frozen_ms or self.state.elapsed_ms
        if not lost:
            return [SessionEvent.CUT, *self.follow_up_or_next(item)]
        # The answer stands even though its follow-up was lost.
        self._close(item, FROZEN if item.confidence is not None or item.answered else LOST)
        return [SessionEvent.CUT]

    def _close(self, item: InterviewQuestion, state: QuestionState) -> None:
        item.state = state
        self.state.current = None
        self.changed = True
        for follow_up in item.follow_ups:
            if follow_up.state == WAITING:
                follow_up.state = UNREACHED

    def _put_away(self, item: InterviewQuestion) -> None:
        """Close a question for good: frozen as it is, abandoned, or not reached."""
        if item.state.closed:
            return
        if item.answered or item.state in (CONFIDENCE, FOLLOW_UP):
            item.frozen_ms = item.frozen_ms or self.state.elapsed_ms
            item.state = FROZEN
        elif item.state == SKIPPED or item.used_ms >= ABANDONED_SHARE * 1000 * item.budget:
            item.state = ABANDONED
        else:
            item.state = UNREACHED
        for follow_up in item.follow_ups:
            if follow_up.state in (WAITING, OPEN):
                follow_up.state = FROZEN if follow_up.typed.strip() else UNREACHED


def phases_of(seconds: Sequence[tuple[str, int]], titles: Mapping[str, str]) -> list[PhaseTime]:
    """Build the phases of a paper from (name, seconds) pairs."""
    return [PhaseTime(name, titles[name], total) for name, total in seconds]
