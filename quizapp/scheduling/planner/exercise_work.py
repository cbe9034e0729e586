"""Exercises in a simulation: which is written when, in what parts, and how well it is remembered."""

from typing import TYPE_CHECKING

from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.random_draws import SAMPLES

if TYPE_CHECKING:
    from quizapp.scheduling.planner.simulate import DayWork

BLOCK_S = 600.0  # no part is shorter where the day has room for it
REPEAT = 0.5  # what writing an exercise again takes, as a share of its minutes
_WORTHWHILE_S = 300.0  # time left over at the end of a day that an exercise can use


class ExerciseWork:
    """The exercises while the days go by.

    Their share of each day is saved up until it pays for a part of an exercise: all that is left of it, at
    most half a day or ten minutes. ``retention`` decides when a passed exercise falls due, ``end`` is the day
    of the interview.
    """

    def __init__(
        self, deck: PlanDeck, samples: list[list[float]], share: float, retention: float, end: int
    ) -> None:
        self._formulas, self._tasks, self._share, self._end = deck.formulas, deck.tasks, share, end
        self._samples = samples[len(deck.names) :]
        self._retention = retention
        self.memory = [task.memory for task in deck.tasks]
        self._last_written = [task.last for task in deck.tasks]
        self._due = [task.due for task in deck.tasks]
        self._passed = [task.passed for task in deck.tasks]
        self._repetitions = [0] * len(deck.tasks)
        self._new = sorted(
            (number for number, task in enumerate(deck.tasks) if not task.memory),
            key=lambda number: (-deck.tasks[number].weight / deck.tasks[number].minutes, number),
        )
        self._saved = 0.0
        self._open: int | None = None
        self._left = 0.0

    @property
    def written(self) -> int:
        """How many exercises have passed."""
        return sum(self._passed)

    def chances(self) -> list[float]:
        """The chance to write each exercise again on the day of the interview; 0 if it never passed."""
        recall, end = self._formulas.recall, self._end
        return [
            recall(memory, end - met) if passed else 0.0
            for memory, met, passed in zip(self.memory, self._last_written, self._passed, strict=True)
        ]

    def begin(self, today: int, seconds: float, last: bool, done: "DayWork") -> None:
        """The part of an exercise for which enough time was saved up."""
        self._saved += self._share * seconds
        if not self._choose(today, last):
            return
        part = min(self._left, max(seconds / 2, BLOCK_S), seconds)
        if self._saved + 1e-6 >= part:
            self._saved -= part
            self._write(part, today, done)

    def end(self, today: int, seconds: float, last: bool, done: "DayWork") -> None:
        """Use what the cards have left of the day."""
        while self._share > 0 and seconds > 0 and self._choose(today, last):
            part = min(self._left, seconds)
            if part < min(self._left, _WORTHWHILE_S):
                return
            seconds -= part
            self._write(part, today, done)

    def _choose(self, today: int, last: bool) -> bool:
        """Whether there is an exercise to write: the one begun, or the one that brings most per minute.

        On the last day only code that has passed before.
        """
        if self._open is not None and (not last or self._passed[self._open]):
            return True
        ready = [number for number, memory in enumerate(self.memory) if memory and self._due[number] <= today]
        if last:
            ready = [number for number in ready if self._passed[number]]
        else:
            ready += self._new[:1]
        if not ready:
            return False
        self._open = max(ready, key=lambda number: (self._gain(number, today), -number))
        self._left = self._seconds(self._open)
        return True

    def _seconds(self, number: int) -> float:
        seconds = 60.0 * self._tasks[number].minutes
        return seconds * REPEAT if self._passed[number] else seconds

    def _gain(self, number: int, today: int) -> float:
        """What writing an exercise now adds on the day of the interview, per second."""
        formulas, memory = self._formulas, self.memory[number]
        left = self._end - today
        before = (
            formulas.recall(memory, self._end - self._last_written[number]) if self._passed[number] else 0.0
        )
        if not memory:
            after = sum(formulas.recall(formulas.first(rating), left) for rating in (2, 3)) / 2
        else:
            elapsed = today - self._last_written[number]
            kept = formulas.recall(memory, elapsed)
            good = formulas.after(memory, elapsed, 3)
            lost = formulas.after(memory, elapsed, 1)
            after = kept * formulas.recall(good, left) + (1 - kept) * formulas.recall(lost, left)
        return self._tasks[number].weight * (after - before) / self._seconds(number)

    def _write(self, seconds: float, today: int, done: "DayWork") -> None:
        assert self._open is not None
        number = self._open
        self._left -= seconds
        finished = self._left < 1.0
        done.code.append((self._tasks[number].slug, seconds, finished))
        done.seconds += seconds
        if finished:
            self._open = None
            if self._new[:1] == [number]:
                del self._new[0]
            self._rate(number, today)

    def _rate(self, number: int, today: int) -> None:
        """A pass: Good or Hard alike likely the first time; later it may have been forgotten."""
        formulas = self._formulas
        luck = self._samples[number][self._repetitions[number] % SAMPLES]
        self._repetitions[number] += 1
        memory = self.memory[number]
        if not memory:
            memory = formulas.first(2 if luck < 0.5 else 3)
        else:
            elapsed = today - self._last_written[number]
            kept = luck < formulas.recall(memory, elapsed)
            memory = formulas.after(memory, elapsed, 3 if kept else 1)
        self.memory[number] = memory
        self._last_written[number], self._passed[number] = today, True
        self._due[number] = today + max(1, int(formulas.interval(memory, self._retention) + 0.5))
