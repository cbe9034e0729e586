"""The clock of a running interview, and every rule about time."""

from dataclasses import dataclass

from quizapp.interview.session.flow import Flow
from quizapp.interview.session.question import OPEN, PROBE, InterviewQuestion

STALL_MS = 10_000
CUT_SHARE = 1.5
MARKS = (50, 90)


@dataclass(slots=True)
class Timed(Flow):
    """Let the clock catch up with ``tick``; what it did is told in words."""

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
    def _time_of(item: InterviewQuestion) -> tuple[int, int]:
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
