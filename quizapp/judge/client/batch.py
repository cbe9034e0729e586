"""Grades many submissions with one judge, a bounded number at a time."""

import contextlib
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.client.process import end_judge, judge_stopped, start_judge, stopped_by_itself
from quizapp.judge.protocol import messages
from quizapp.judge.protocol.messages import ClientRequest, JudgeFailed, Operation
from quizapp.judge.protocol.orders import GradeOrder, check_options
from quizapp.judge.verdict import Verdict, VerdictStatus


def submissions_in(folder: Path) -> list[Path]:
    """The ``.py`` files of a folder, sorted. They need not be readable: grading one then says so."""
    return sorted(folder.glob("*.py"))


def grade_folder(
    exercise: Exercise,
    files: Path | Sequence[Path],
    *,
    jobs: int = 2,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
) -> Iterator[Verdict]:
    """Yield exactly one verdict per file (or per ``.py`` file of a folder), in the order of completion.

    At most ``jobs`` files are graded at a time. ``timeout`` is in seconds for one run. A file that cannot be
    read gets a verdict with status error. Raises `QuizError` if nothing can be graded with these options.
    """
    check_options(device=device, timeout=timeout, seed=seed, tier=tier)
    remaining = iter(submissions_in(files) if isinstance(files, Path) else files)
    batch = _Batch(exercise, tier or "")
    try:
        while True:
            while batch.running < max(1, jobs) and (path := next(remaining, None)) is not None:
                try:
                    order = GradeOrder.create(
                        exercise, path, device=device, timeout=timeout, seed=seed, tier=tier
                    )
                except QuizError as error:
                    yield _error_verdict(exercise, str(path), device, seed, error)
                else:
                    # Several files at once keep the processors busy, so do not run the seeds in parallel.
                    batch.send(order.one_by_one() if jobs > 1 else order)
            if not batch.running:
                return
            yield batch.next_verdict()
    finally:
        batch.close()


def _error_verdict(exercise: Exercise, file: str, device: str, seed: int | None, error: QuizError) -> Verdict:
    return Verdict(exercise.slug, file, device, VerdictStatus.ERROR, error=str(error), seed=seed or 0)


@dataclass(frozen=True)
class _Attempt:
    order: GradeOrder
    number: int = 1


class _Batch:
    """A judge and the orders that it is working on. The judge is replaced when a submission kills it.

    If several orders were under way, any of them may have killed the judge. All become suspects, and a new
    judge gets them one at a time, so that no submission is blamed for what another one did.
    """

    def __init__(self, exercise: Exercise, tier: str):
        self._exercise = exercise
        self._tier = tier
        self._under_way: dict[int, _Attempt] = {}
        self._suspects: deque[_Attempt] = deque()
        self._tickets = itertools.count(1)
        self._has_verdict = False
        self._process, self._sock = start_judge(tier=tier)

    @property
    def running(self) -> int:
        """How many orders have no verdict yet."""
        return len(self._under_way) + len(self._suspects)

    def send(self, order: GradeOrder) -> None:
        """Give the judge one more order, or hold it back until the suspects are graded."""
        if self._suspects:
            self._suspects.append(_Attempt(order))
        else:
            self._send(_Attempt(order))

    def _send(self, attempt: _Attempt) -> None:
        ticket = next(self._tickets)
        self._under_way[ticket] = attempt
        with contextlib.suppress(OSError):  # `next_verdict` notices that the judge has gone
            messages.send(self._sock, ClientRequest(Operation.GRADE, ticket, attempt.order))

    def next_verdict(self) -> Verdict:
        """Wait for the next verdict.

        Raises `QuizError` if an order's options allow no grading, or if the judge cannot run. After the
        first verdict it no longer raises: each further file gets a verdict that says what went wrong.
        """
        while True:
            if self._suspects and not self._under_way:
                self._send(self._suspects.popleft())
            try:
                reply = messages.receive_reply(self._sock, self._process.pid)
            except OSError:
                reply = None
            if reply is None:
                lost = self._replace_judge()
                if lost is not None:
                    return lost
                continue
            order = self._under_way.pop(reply.ticket).order
            try:
                verdict = reply.verdict_or_raise()
            except QuizError as error:
                if not self._has_verdict and not isinstance(error, JudgeFailed):
                    raise
                return self._error_verdict(order, error)
            self._has_verdict = True
            return verdict

    def _error_verdict(self, order: GradeOrder, error: QuizError) -> Verdict:
        return _error_verdict(self._exercise, order.file, order.device, order.seed, error)

    def _replace_judge(self) -> Verdict | None:
        """Start another judge. Returns the verdict on the order that certainly ended the last two, if any.

        Raises `JudgeFailed` if the judge stopped by itself before the first verdict.
        """
        self._sock.close()
        end_judge(self._process)
        by_itself = stopped_by_itself(self._process)
        if by_itself and not self._has_verdict:
            raise judge_stopped()
        self._process, self._sock = start_judge(tier=self._tier)
        attempts = list(self._under_way.values())
        self._under_way.clear()
        if len(attempts) == 1 and attempts[0].number > 1:
            order = attempts[0].order
            if by_itself:
                return self._error_verdict(order, judge_stopped())
            return order.lost_verdict(self._exercise)
        again = [replace(attempt, number=attempt.number + 1) for attempt in attempts]
        self._suspects.extendleft(reversed(again))
        return None

    def close(self) -> None:
        """End the judge."""
        self._sock.close()
        end_judge(self._process)
