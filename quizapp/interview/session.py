"""The running interview: one clock, phases with their own time, answers frozen as they are given.

Nothing here knows a screen. The caller ticks it; all rules about time live in `Session.tick`:

- An item is marked at 50 % and 90 % of its time and cut at 150 %; what was typed then counts as given.
- A phase that has used its time opens no further item; the one in hand may run to its own cut.
- The interview ends with its length. Items that were not opened by then were not reached.
- A stall of the process (suspended, stopped, killed and resumed) is time that passed like any other,
  but nothing opens during it, and an item that ran out meanwhile is lost rather than answered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from quizapp.interview.clock import Steady, steady
from quizapp.interview.item import (
    ABANDONED,
    CLOSED,
    CONFIDENCE,
    CUT,
    FROZEN,
    LOST,
    OPEN,
    PROBE,
    SKIPPED,
    UNREACHED,
    WAITING,
    Item,
)

STALL_MS = 10_000
CUT_SHARE = 1.5
ABANDONED_SHARE = 0.3
MARKS = (50, 90)
CONFIDENCES = (0, 25, 50, 75, 100)
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
class Session:
    """Holds the state; every change goes through its methods, which return what to tell the learner."""

    phases: list[PhaseTime]
    items: list[Item]
    clock: Steady = steady
    elapsed_ms: int = 0
    phase: int = 0
    current: int | None = None
    state: str = "running"
    log: list[dict[str, Any]] = field(default_factory=list)
    changed: bool = True  # since the last save, apart from the clock
    _last: float | None = None
    _rest: float = 0.0

    # reading

    @property
    def length_ms(self) -> int:
        """The length of the interview."""
        return 1000 * sum(phase.seconds for phase in self.phases)

    @property
    def left_ms(self) -> int:
        """What is left of it."""
        return max(0, self.length_ms - self.elapsed_ms)

    @property
    def item(self) -> Item | None:
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

    def in_phase(self, number: int | None = None) -> list[Item]:
        """The items of a phase (default: the present one)."""
        name = self.phases[self.phase if number is None else number].name
        return [item for item in self.items if item.phase == name]

    def can_open(self, number: int) -> bool:
        """Whether an item may be opened now: in the present phase, not closed, time left."""
        item = self.items[number]
        return not self.ended and item.phase == self.now.name and item.state in {WAITING, SKIPPED}

    # time

    def start(self) -> None:
        """Start the clock."""
        self._last = self.clock()
        self._note("start")
        self._enter_phase(0)

    def tick(self, *, present: bool = False) -> list[str]:
        """Let the clock catch up; what happened since, as words: mark-50, mark-90, cut, phase, end, lost.

        ``present``: the learner was at work all the while, in an editor of their own.
        """
        if self.ended:
            return []
        now = self.clock()
        if self._last is None:
            self._last = now
        passed = max(0.0, now - self._last) * 1000 + self._rest
        self._last = now
        whole = int(passed)
        self._rest = passed - whole
        if whole > STALL_MS and not present:
            self._note("lost", ms=whole)
            return ["lost", *self._pass_unseen(whole)]
        return self._pass(whole)

    def resume(self, gone_ms: int) -> list[str]:
        """Go on after the process was gone for ``gone_ms`` of the world's clock."""
        self._last = self.clock()
        self._note("lost", ms=gone_ms)
        said = self._pass_unseen(gone_ms)
        if not self.ended:
            self._note("resumed")
        return said

    def _pass(self, ms: int) -> list[str]:
        """Time in which the learner could act; cut into steps so that each limit takes effect in turn."""
        said: list[str] = []
        while ms > 0 and not self.ended:
            step = max(1, min(ms, self._to_next_limit()))
            ms -= step
            self._add(step)
            said += self._limits(lost=False)
        return said

    def _pass_unseen(self, ms: int) -> list[str]:
        """Time in which nobody sat there: the item in hand runs out, no other opens."""
        said: list[str] = []
        while ms > 0 and not self.ended:
            step = max(1, min(ms, self._to_next_limit()))
            ms -= step
            self._add(step)
            said += self._limits(lost=True)
        if not self.ended and self.current is None:
            said += self._next()
        return said

    def _to_next_limit(self) -> int:
        limits = [self.left_ms, self.now.seconds * 1000 - self.now.used_ms]
        item = self.item
        if item is not None:
            budget, used = self._time_of(item)
            limits += [int(budget * share) - used for share in (MARKS[0] / 100, MARKS[1] / 100, CUT_SHARE)]
        return min((limit for limit in limits if limit > 0), default=self.left_ms)

    @staticmethod
    def _time_of(item: Item) -> tuple[int, int]:
        """Budget and used time in ms of what is open: the answer, or the follow-up question."""
        probe = item.probe
        if probe is not None:
            return 1000 * probe.budget, probe.used_ms
        return 1000 * item.budget, item.used_ms

    def _add(self, ms: int) -> None:
        self.elapsed_ms += ms
        self.now.used_ms += ms
        item = self.item
        if item is None:
            return
        if item.state == PROBE and item.probe is not None:
            item.probe.used_ms += ms
        elif item.state == OPEN:
            item.used_ms += ms

    def _limits(self, *, lost: bool) -> list[str]:
        said: list[str] = []
        item = self.item
        if item is not None and item.state in {OPEN, PROBE}:
            budget, used = self._time_of(item)
            share = 100 * used / budget if budget else 1000
            for mark in MARKS:
                if share >= mark and item.warned < mark:
                    item.warned = mark
                    said.append(f"mark-{mark}")
            if share >= 100 * CUT_SHARE:
                said += self._cut(item, lost=lost)
        if self.left_ms == 0:
            return [*said, *self.end("time")]
        if self.now.over and self.current is None:
            said += self._leave_phase(lost=lost)
        return said

    def _cut(self, item: Item, *, lost: bool) -> list[str]:
        self._note("cut", item=item.number, lost=lost)
        probe = item.probe
        if probe is not None:
            probe.state = LOST if lost else CUT
            item.frozen_ms = item.frozen_ms or self.elapsed_ms
            if lost:
                self._close(item, item_state(item))
                return ["cut"]
            return ["cut", *self._probe_or_next(item)]
        self._close(item, LOST if lost else CUT)
        item.frozen_ms = self.elapsed_ms
        return ["cut"] if lost else ["cut", *self._next()]

    def _close(self, item: Item, state: str) -> None:
        item.state = state
        self.current = None
        self.changed = True
        for probe in item.probes:
            if probe.state == WAITING:
                probe.state = UNREACHED

    # going on

    def _enter_phase(self, number: int) -> list[str]:
        self.phase = number
        self.changed = True
        if self.in_phase():
            return ["phase", *self._next()]
        self.current = None
        return ["phase"]

    def _leave_phase(self, *, lost: bool = False) -> list[str]:
        """Close what the phase left open and go to the next."""
        for item in self.in_phase():
            self._put_away(item)
        self.current = None
        if self.phase + 1 == len(self.phases):
            return self.end("done")
        if lost:
            self.phase += 1
            return ["phase"]
        return self._enter_phase(self.phase + 1)

    def _put_away(self, item: Item) -> None:
        """Close an item for good: as it stands, abandoned, or not reached."""
        if item.state in CLOSED:
            return
        if item.answered or item.state in {CONFIDENCE, PROBE}:
            item.frozen_ms = item.frozen_ms or self.elapsed_ms
            item.state = FROZEN
        elif item.state == SKIPPED or item.used_ms >= ABANDONED_SHARE * 1000 * item.budget:
            item.state = ABANDONED
        else:
            item.state = UNREACHED
        for probe in item.probes:
            if probe.state in {WAITING, OPEN}:
                probe.state = FROZEN if probe.typed.strip() else UNREACHED

    def _next(self) -> list[str]:
        """Open the next item of the phase, skipped ones last; leave the phase where none is left."""
        if self.now.over and self.in_phase():
            return self._leave_phase()
        items = self.in_phase()
        waiting = [item for item in items if item.state == WAITING]
        skipped = [item for item in items if item.state == SKIPPED]
        for item in [*waiting, *skipped]:
            return self.open(item.number)
        if not items:
            return []
        return self._leave_phase()

    def open(self, number: int) -> list[str]:
        """Open an item of the phase, putting the one in hand aside. An expired item never opens again."""
        if not self.can_open(number):
            return []
        here = self.item
        if here is not None and here.number != number:
            if here.state != OPEN:
                return []
            here.state = SKIPPED
        item = self.items[number]
        item.state = OPEN
        if item.opened_ms is None:
            item.opened_ms = self.elapsed_ms
        self.current = number
        self.changed = True
        return ["item"]

    def proceed(self) -> list[str]:
        """Leave a phase without items: the brief, or the wrap-up, which ends the interview."""
        if self.ended or self.in_phase():
            return []
        return self._leave_phase()

    def skip(self) -> list[str]:
        """Put the item in hand aside; it can be opened again until the phase ends."""
        item = self.item
        if item is None or item.state != OPEN:
            return []
        rest = [i for i in self.in_phase() if i.state in {WAITING, SKIPPED} and i is not item]
        if not rest:
            return ["last"]
        later = [other for other in rest if other.number > item.number] or rest
        unopened = [other for other in rest if other.state == WAITING]
        return self.open((unopened or later)[0].number)

    def end(self, why: str = "early") -> list[str]:
        """End the interview: what is open is frozen as it stands, the rest was not reached."""
        if self.ended:
            return []
        for item in self.items:
            self._put_away(item)
        self.current = None
        self.state = ENDED
        self._note("end", why=why)
        return ["end"]

    # answering

    def type(self, text: str) -> None:
        """The words so far, of the answer or of the follow-up in hand."""
        item = self.item
        if item is None:
            return
        if item.probe is not None:
            item.probe.typed = text
        elif item.state == OPEN:
            item.typed = text
            self._first_key(item, begun=bool(text))
        self.changed = True

    def give(self, value: Any) -> None:
        """The answer so far of a machine-marked kind."""
        item = self.item
        if item is not None and item.state == OPEN:
            item.given = value
            self._first_key(item, begun=value not in (None, "", []))
            self.changed = True

    def write_code(self, source: str) -> None:
        """The source so far of a coding item."""
        item = self.item
        if item is not None and item.state == OPEN and item.kind == "coding":
            item.code = source
            self._first_key(item, begun=source != item.question["starter"])
            self.changed = True

    def _first_key(self, item: Item, *, begun: bool) -> None:
        if begun and item.first_key_ms is None:
            item.first_key_ms = item.used_ms

    def checked(self, ok: bool) -> None:
        """The learner ran a check of their own."""
        item = self.item
        if item is not None and item.kind == "coding":
            item.checks.append({"at_ms": self.elapsed_ms, "ok": ok, "before": len(item.submissions)})
            self.changed = True

    def submitted(self, number: int, source: str, verdict: Mapping[str, Any], at_ms: int) -> None:
        """A verdict on code of item ``number`` that was submitted at ``at_ms``; late ones do not count."""
        item = self.items[number]
        limit = item.frozen_ms
        if item.kind == "coding" and (limit is None or at_ms <= limit):
            entry = {"at_ms": at_ms, "source": source, "verdict": dict(verdict)}
            item.submissions.append(entry)
            self.changed = True

    def submit(self) -> list[str]:
        """Freeze the answer or the follow-up in hand with its time."""
        item = self.item
        if item is None:
            return []
        probe = item.probe
        if probe is not None:
            probe.state = FROZEN
            return self._probe_or_next(item)
        if item.state != OPEN:
            return []
        item.frozen_ms = self.elapsed_ms
        item.state = CONFIDENCE
        self.changed = True
        return ["confidence"]

    def confide(self, percent: int) -> list[str]:
        """How sure the learner is; then the follow-up questions, then the next item."""
        item = self.item
        if item is None or item.state != CONFIDENCE or percent not in CONFIDENCES:
            return []
        item.confidence = percent
        return self._probe_or_next(item)

    def _probe_or_next(self, item: Item) -> list[str]:
        waiting = next((probe for probe in item.probes if probe.state == WAITING), None)
        if waiting is not None and not self.now.over:
            waiting.state = OPEN
            item.state = PROBE
            item.warned = 0
            self.changed = True
            return ["probe"]
        self._close(item, FROZEN)
        return self._next()

    def _note(self, event: str, **facts: Any) -> None:
        self.log.append({"at_ms": self.elapsed_ms, "event": event, **facts})
        self.changed = True

    # keeping

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
    def from_json(cls, data: Mapping[str, Any], clock: Steady = steady) -> "Session":
        """The session of which ``data`` is the JSON form; call ``resume`` next where it still runs."""
        return cls(
            [PhaseTime(**phase) for phase in data["phases"]],
            [Item.from_json(item) for item in data["items"]],
            clock,
            data["elapsed_ms"],
            data["phase"],
            data["current"],
            data["state"],
            list(data["events"]),
        )


def item_state(item: Item) -> str:
    """How an item closes whose answer stands but whose follow-up was lost."""
    return FROZEN if item.confidence is not None or item.answered else LOST


def phases_of(seconds: Sequence[tuple[str, int]], titles: Mapping[str, str]) -> list[PhaseTime]:
    """The phases of a paper."""
    return [PhaseTime(name, titles[name], total) for name, total in seconds]
