"""Which item is in hand: opening, putting aside, leaving a phase, ending."""

from dataclasses import dataclass

from quizapp.interview.session.question import (
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
    InterviewQuestion,
)
from quizapp.interview.session.state import ENDED, SessionState

ABANDONED_SHARE = 0.3


@dataclass(slots=True)
class Flow(SessionState):
    """Moves from item to item and from phase to phase."""

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

    def _put_away(self, item: InterviewQuestion) -> None:
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

    def _probe_or_next(self, item: InterviewQuestion) -> list[str]:
        waiting = next((probe for probe in item.probes if probe.state == WAITING), None)
        if waiting is not None and not self.now.over:
            waiting.state = OPEN
            item.state = PROBE
            item.warned = 0
            self.changed = True
            return ["probe"]
        self._close(item, FROZEN)
        return self._next()

    def _cut(self, item: InterviewQuestion, *, lost: bool) -> list[str]:
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

    def _close(self, item: InterviewQuestion, state: str) -> None:
        item.state = state
        self.current = None
        self.changed = True
        for probe in item.probes:
            if probe.state == WAITING:
                probe.state = UNREACHED


def item_state(item: InterviewQuestion) -> str:
    """How an item closes whose answer stands but whose follow-up was lost."""
    return FROZEN if item.confidence is not None or item.answered else LOST
