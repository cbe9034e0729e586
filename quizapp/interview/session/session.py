"""The running interview: one clock, phases with their own time, answers frozen as they are given.

Nothing here knows a screen. The caller ticks it; all rules about time live in `Timed.tick`:

- An item is marked at 50 % and 90 % of its time and cut at 150 %; what was typed then counts as given.
- A phase that has used its time opens no further item; the one in hand may run to its own cut.
- The interview ends with its length. Items that were not opened by then were not reached.
- A stall of the process (suspended, stopped, killed and resumed) is time that passed like any other,
  but nothing opens during it, and an item that ran out meanwhile is lost rather than answered.
- A reading of an incident costs its price on the item's clock and on the interview's, as time that passed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quizapp.interview.session.question import CONFIDENCE, EMPTY, FROZEN, INCIDENT, OPEN, InterviewQuestion
from quizapp.interview.session.timing import CUT_SHARE, Timed

CONFIDENCES = (0, 25, 50, 75, 100)


@dataclass(slots=True)
class InterviewSession(Timed):
    """Takes the answers; every change goes through a method that returns what to tell the learner."""

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
            self._first_key(item, begun=value not in EMPTY)
            self.changed = True

    def write_code(self, source: str) -> None:
        """The source so far of a coding item."""
        item = self.item
        if item is not None and item.state == OPEN and item.kind == "coding":
            item.code = source
            self._first_key(item, begun=source != item.question["starter"])
            self.changed = True

    # incidents

    def can_buy(self, name: str) -> bool:
        """Whether a reading may be bought now: not bought yet, and paid before the item or the clock ends."""
        item = self.item
        if item is None or item.state != OPEN or item.kind != INCIDENT:
            return False
        reading = item.reading(name)
        if reading is None or item.bought_reading(name) is not None:
            return False
        price = 1000 * int(reading["seconds"])
        return item.used_ms + price < CUT_SHARE * 1000 * item.budget and price < self.left_ms

    def buy(self, name: str, predicted: str) -> list[str]:
        """Buy a reading of the incident in hand after saying how it will end; its price passes at once."""
        item = self.item
        if item is None or not self.can_buy(name):
            return []
        reading = item.reading(name)
        if reading is None or predicted not in reading["outcomes"]:
            return []
        self._first_key(item, begun=True)
        seconds = int(reading["seconds"])
        item.bought.append(
            {
                "reading": name,
                "seconds": seconds,
                "predicted": predicted,
                "outcome": reading["outcome"],
                "at_ms": self.elapsed_ms,
            }
        )
        self._note("reading", item=item.number, reading=name, seconds=seconds)
        return ["reading", *self._pass(1000 * seconds)]

    def hint(self) -> list[str]:
        """Take the next hint of the item in hand; each costs marks."""
        item = self.item
        if item is None or item.state != OPEN or item.hints >= len(item.question.get("hints", ())):
            return []
        item.hints += 1
        self._note("hint", item=item.number)
        return ["hint"]

    def commit(self, name: str, value: str | list[str]) -> None:
        """Commit to a cause, place, states, rejected decoy or the reading that rejects it."""
        item = self.item
        if item is not None and item.state == OPEN and item.kind == INCIDENT:
            given = {**(item.given or {}), name: value}
            if name == "cause" and given.get("decoy") == value:
                del given["decoy"]  # one cannot be named and rejected at once
            item.given = {key: said for key, said in given.items() if said} or None
            self._first_key(item, begun=True)
            self.changed = True

    # noting

    def _first_key(self, item: InterviewQuestion, *, begun: bool) -> None:
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
