"""The running interview: one clock, phases with their own time, answers frozen when submitted.

It is independent of any screen. The caller calls ``tick`` regularly:

- The learner is warned at 50 % and 90 % of a question's time. At 150 % it is cut, and the text typed so far
  is the answer.
- A phase that has used its time opens no further question. The current one may run to its own cut.
- The interview ends when its length has passed. Questions not opened by then were not reached.
- If the process stalls (suspended, stopped, killed and resumed), the time counts like any other. No question
  opens during it, and a question that ran out meanwhile is lost rather than answered.
- The price of an incident's reading is charged to the clocks of both the question and the interview.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quizapp.incidents.diagnosis import BoughtReading
from quizapp.interview.blueprint import CUT_SHARE
from quizapp.interview.code_review.model import ReviewAnswer
from quizapp.interview.session.clock import (
    STALL_MS,
    WARNINGS,
    Steady,
    Stopwatch,
    limits_ms,
    spend,
    steady,
    still,
    used_and_budget_ms,
)
from quizapp.interview.session.flow import (
    ClockEventType,
    PhaseTime,
    QuestionFlow,
    SessionEvent,
    SessionState,
)
from quizapp.interview.session.question import (
    CODING,
    CONFIDENCE,
    CUT,
    FOLLOW_UP,
    FROZEN,
    INCIDENT,
    OPEN,
    REVIEW,
    CodeSubmission,
    InterviewQuestion,
    OwnCheck,
)
from quizapp.practice.staged_run import StageOutcome

CONFIDENCES = (0, 25, 50, 75, 100)


class InterviewSession:
    """Takes the answers and keeps the time. Actions return the events that a screen has to show."""

    def __init__(
        self, phases: list[PhaseTime], items: list[InterviewQuestion], clock: Steady = steady
    ) -> None:
        self._hold(SessionState(phases, items), clock)

    def _hold(self, state: SessionState, clock: Steady) -> None:
        self.state = state
        self.flow = QuestionFlow(state)
        self._practice = any(item.practice for item in state.items)
        self._stopwatch = Stopwatch(still if self._practice else clock)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], clock: Steady = steady) -> "InterviewSession":
        """Read a stored session. Call ``resume`` next if it has not ended."""
        session = cls([], [], clock)
        session._hold(SessionState.from_json(data), clock)
        return session

    def as_json(self) -> dict[str, Any]:
        """Everything that a resume needs."""
        return self.state.as_json()

    # the current state

    @property
    def items(self) -> list[InterviewQuestion]:
        """All questions."""
        return self.state.items

    @property
    def item(self) -> InterviewQuestion | None:
        """The current question."""
        return self.flow.item

    @property
    def phases(self) -> list[PhaseTime]:
        """All phases."""
        return self.state.phases

    @property
    def phase(self) -> int:
        """The number of the current phase."""
        return self.state.phase

    @property
    def now(self) -> PhaseTime:
        """The current phase."""
        return self.flow.now

    @property
    def ended(self) -> bool:
        """Whether the clock has stopped for good."""
        return self.flow.ended

    @property
    def elapsed_ms(self) -> int:
        """The milliseconds of the interview that have passed."""
        return self.state.elapsed_ms

    @property
    def left_ms(self) -> int:
        """The milliseconds of the interview that are left."""
        length = 1000 * sum(phase.seconds for phase in self.phases)
        return max(0, length - self.state.elapsed_ms)

    @property
    def answered(self) -> int:
        """How many questions were answered, in time or until they were cut."""
        return sum(item.state in (FROZEN, CUT) for item in self.items)

    def in_phase(self, number: int | None = None) -> list[InterviewQuestion]:
        """The questions of a phase (default: the current one)."""
        return self.flow.in_phase(number)

    def can_open(self, number: int) -> bool:
        """Whether a question may be opened now."""
        return self.flow.can_open(number)

    # moving on

    def open(self, number: int) -> list[SessionEvent]:
        """Open a question of the phase and skip the current one."""
        return self.flow.open(number)

    def skip(self) -> list[SessionEvent]:
        """Skip the current question. It can be opened again until the phase ends."""
        return self.flow.skip()

    def proceed(self) -> list[SessionEvent]:
        """Leave a phase without questions: the brief, or the wrap-up, which ends the interview."""
        return [] if self.ended or self.in_phase() else self.flow.leave_phase()

    def end(self, why: str = "early") -> list[SessionEvent]:
        """End the interview. Open answers are frozen as they are; the other questions were not reached."""
        return self.flow.end(why)

    # time

    def start(self) -> None:
        """Start the clock."""
        self._stopwatch.restart()
        self.flow.note(ClockEventType.START)
        self.flow.enter_phase(0)

    def tick(self, *, present: bool = False) -> list[SessionEvent]:
        """Advance to the present and return the events since the last tick.

        ``present`` says that the learner was working all the time, in an external editor, so that a long gap
        is not a stall.
        """
        if self.ended:
            return []
        ms = self._stopwatch.lap()
        if ms > STALL_MS and not present:
            self.flow.note(ClockEventType.LOST, ms=ms)
            return [SessionEvent.LOST, *self._pass_unattended(ms)]
        return self._pass(ms)

    def resume(self, gone_ms: int) -> list[SessionEvent]:
        """Continue after the process was gone for ``gone_ms`` of wall-clock time."""
        gone_ms = 0 if self._practice else gone_ms
        self._stopwatch.restart()
        self.flow.note(ClockEventType.LOST, ms=gone_ms)
        events = self._pass_unattended(gone_ms)
        if not self.ended:
            self.flow.note(ClockEventType.RESUMED)
        return events

    def _pass(self, ms: int, *, lost: bool = False) -> list[SessionEvent]:
        """Let time pass in steps that end at each limit, so that the limits take effect in order."""
        events: list[SessionEvent] = []
        while ms > 0 and not self.ended:
            # At least 1 ms, so that the loop makes progress when no limit lies ahead.
            step = max(1, min(ms, self._to_next_limit()))
            ms -= step
            self.state.elapsed_ms += step
            self.now.used_ms += step
            if self.item is not None:
                spend(self.item, step)
            events += self._apply_limits(lost=lost)
        return events

    def _pass_unattended(self, ms: int) -> list[SessionEvent]:
        """Let time pass while the learner was away: the current question may run out, no other opens."""
        events = self._pass(ms, lost=True)
        if not self.ended and self.item is None:
            events += self.flow.open_next()
        return events

    def _to_next_limit(self) -> int:
        limits = [self.left_ms, self.now.seconds * 1000 - self.now.used_ms]
        if self.item is not None:
            limits += limits_ms(self.item)
        return min((limit for limit in limits if limit > 0), default=self.left_ms)

    def _apply_limits(self, *, lost: bool) -> list[SessionEvent]:
        events: list[SessionEvent] = []
        item = self.item
        if item is not None and item.state in (OPEN, FOLLOW_UP):
            used, budget = used_and_budget_ms(item)
            percent = 100 * used / budget if budget else 1000
            for mark in WARNINGS:
                if percent >= mark > item.warned:
                    item.warned = mark
                    events.append(SessionEvent(f"mark-{mark}"))
            if percent >= 100 * CUT_SHARE:
                events += self.flow.cut(item, lost=lost)
        if self.left_ms == 0:
            return [*events, *self.end("time")]
        if self.now.over and self.item is None:
            events += self.flow.leave_phase(lost=lost)
        return events

    # answering

    def _open_item(self, kind: str = "") -> InterviewQuestion | None:
        """The current question if its answer is open and it is of ``kind``, else None."""
        item = self.item
        if item is None or item.state != OPEN or (kind and item.kind != kind):
            return None
        return item

    def _answering(self, item: InterviewQuestion, *, begun: bool = True) -> None:
        if begun and item.first_key_ms is None:
            item.first_key_ms = item.used_ms
        self.flow.changed = True

    def type(self, text: str) -> None:
        """Replace the text of the current answer or follow-up."""
        item = self.item
        if item is None:
            return
        if item.open_follow_up is not None:
            item.open_follow_up.typed = text
            self.flow.changed = True
        elif item.state == OPEN:
            item.typed = text
            self._answering(item, begun=bool(text))

    def give(self, value: int | str | list[int] | list[str] | None) -> None:
        """Replace the answer to a machine-marked question."""
        if item := self._open_item():
            item.given = [*value] if isinstance(value, list) else value
            self._answering(item, begun=item.has_given)

    def write_code(self, source: str) -> None:
        """Replace the source of a coding question."""
        if item := self._open_item(CODING):
            item.code = source
            self._answering(item, begun=source != item.coding.starter)

    def answer_review(self, answer: ReviewAnswer) -> None:
        """Replace the answer to a code review."""
        item = self._open_item(REVIEW)
        if item is not None and answer != item.review_answer:
            item.review = msgspec.structs.replace(answer, words="", seconds=0.0)
            item.typed = answer.words
            self._answering(item)

    def submit(self) -> list[SessionEvent]:
        """Freeze the current answer or follow-up. After an answer the learner is asked for confidence.

        A code review has asked for it already.
        """
        item = self.item
        if item is None:
            return []
        if item.open_follow_up is not None:
            item.open_follow_up.state = FROZEN
            return self.flow.follow_up_or_next(item)
        if item.state != OPEN:
            return []
        item.frozen_ms = self.elapsed_ms
        if item.kind == REVIEW:
            return self.flow.follow_up_or_next(item)
        item.state = CONFIDENCE
        self.flow.changed = True
        return [SessionEvent.CONFIDENCE]

    def revise(self) -> list[SessionEvent]:
        """Open the answer again that was just frozen. The time since then belongs to it."""
        item = self.item
        if item is None or item.state != CONFIDENCE or item.frozen_ms is None:
            return []
        item.used_ms += self.elapsed_ms - item.frozen_ms
        item.frozen_ms = None
        item.state = OPEN
        self.flow.changed = True
        return [SessionEvent.ITEM]

    def confide(self, percent: int) -> list[SessionEvent]:
        """Record the learner's confidence in percent, then ask a follow-up or open the next question."""
        item = self.item
        if item is None or item.state != CONFIDENCE or percent not in CONFIDENCES:
            return []
        item.confidence = percent
        return self.flow.follow_up_or_next(item)

    # code

    def checked(self, ok: bool, at_ms: int | None = None) -> None:
        """Record that the learner ran a check of their own, begun at ``at_ms`` (by default now)."""
        item = self.item
        if item is not None and item.kind == CODING:
            at_ms = self.elapsed_ms if at_ms is None else at_ms
            before = sum(submission.at_ms < at_ms for submission in item.submissions)
            item.checks.append(OwnCheck(at_ms, ok, before))
            self.flow.changed = True

    def submitted(
        self, number: int, source: str, verdict: Mapping[str, Any], at_ms: int
    ) -> StageOutcome | None:
        """Record the verdict on code of question ``number`` that was submitted at ``at_ms``.

        Code submitted after the answer was frozen does not count. A verdict may arrive later than that.
        Returns what the verdict means for the stages of the task, if it has any.
        """
        item = self.items[number]
        if item.kind != CODING or not (item.frozen_ms is None or at_ms <= item.frozen_ms):
            return None
        submission = CodeSubmission(at_ms, source, dict(verdict))
        item.submissions.append(submission)
        self.flow.changed = True
        return item.grade(submission) if item.stages else None

    def add_question(self, item: InterviewQuestion, *, leave_s: int) -> None:
        """Add a question to the current phase, whose time then ends ``leave_s`` after that of the question.

        The later phases get shorter, so that the interview keeps its length.
        """
        phases = self.phases
        room = sum(phase.seconds for phase in phases[self.phase :])
        wanted = -(-self.now.used_ms // 1000) + leave_s + item.planned
        self.now.seconds = min(room, max(self.now.seconds, wanted))
        for phase in phases[self.phase + 1 :]:
            phase.seconds = max(0, room - self.now.seconds)
            room -= phase.seconds
        self.items.append(item)
        self.flow.changed = True

    # incidents

    def can_buy(self, name: str) -> bool:
        """Whether a reading may be bought: it is new, and its price fits into the question's time."""
        item = self._open_item(INCIDENT)
        if item is None or item.bought_reading(name) is not None:
            return False
        reading = item.reading(name)
        if reading is None:
            return False
        return self.affords(reading.seconds)

    def buy(self, name: str, predicted: str) -> list[SessionEvent]:
        """Buy a reading of the current incident. Its price in seconds passes at once.

        Without a valid prediction of the outcome nothing happens.
        """
        item = self.item
        reading = item.reading(name) if item is not None and self.can_buy(name) else None
        if item is None or reading is None or predicted not in reading.outcomes:
            return []
        self._answering(item)
        item.bought.append(BoughtReading(name, reading.seconds, predicted, reading.outcome, self.elapsed_ms))
        self.flow.note(ClockEventType.READING, item=item.number, reading=name, seconds=reading.seconds)
        return [SessionEvent.READING, *self.charge(reading.seconds)]

    def affords(self, seconds: int) -> bool:
        """Whether a price fits into the time of the current question. Practice has no clock."""
        item = self.item
        if item is None or item.practice:
            return item is not None
        price = 1000 * seconds
        return item.used_ms + price < CUT_SHARE * 1000 * item.budget and price < self.left_ms

    def charge(self, seconds: int) -> list[SessionEvent]:
        """Let the price of a reading or of a run pass on the clock."""
        return [] if self.item is not None and self.item.practice else self._pass(1000 * seconds)

    def hint(self) -> list[SessionEvent]:
        """Show the next hint of the current incident. Each hint costs marks."""
        item = self._open_item(INCIDENT)
        if item is None or item.hints >= len(item.incident.hints):
            return []
        item.hints += 1
        self.flow.note(ClockEventType.HINT, item=item.number)
        return [SessionEvent.HINT]

    def commit(self, field: str, value: str | list[str]) -> None:
        """State one field of the diagnosis: cause, place, states, rejected decoy, or rejecting reading."""
        item = self._open_item(INCIDENT)
        if item is None or item.is_committed(field):
            return
        stated = item.diagnosis
        stated.commit(field, value)
        # An empty diagnosis counts as no answer.
        item.given = stated if stated != type(stated)() else None
        self._answering(item)
