"""Grades many submissions with one judge, a bounded number at a time."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge import protocol
from quizapp.judge.client.process import end_judge, judge_stopped, start_judge, stopped_by_itself
from quizapp.judge.protocol import ClientRequest, GradeOrder, JudgeFailed, Operation, check_options
from quizapp.judge.verdict import Verdict, VerdictStatus

_ATTEMPTS = 2


def submissions_in(folder: Path) -> list[Path]:
    """The ``.py`` files of a folder, whatever they are: what cannot be read gets a verdict that says so."""
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
    """Exactly one verdict for each file (or each ``.py`` file of a folder), in the order of completion.

    At most ``jobs`` are graded at a time. A file that cannot be read gets a verdict with status error. Raises
    `QuizError` for options with which nothing can be graded.
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
                    # With several files at once, the processors are busy without parallel seeds.
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
    number: int


class _Batch:
    """A judge with the orders that it is working on; replaced when a submission kills it."""

    def __init__(self, exercise: Exercise, tier: str):
        self._exercise = exercise
        self._tier = tier
        self._attempts: dict[int, _Attempt] = {}
        self._tickets = itertools.count(1)
        self._process, self._sock = start_judge(tier=tier)

    @property
    def running(self) -> int:
        """How many orders have no verdict yet."""
        return len(self._attempts)

    def send(self, order: GradeOrder, attempt: int = 1) -> None:
        """Give the judge one more order."""
        ticket = next(self._tickets)
        self._attempts[ticket] = _Attempt(order, attempt)
        with contextlib.suppress(OSError):  # `next_verdict` notices that the judge has gone
            protocol.send(self._sock, ClientRequest(Operation.GRADE, ticket, order))

    def next_verdict(self) -> Verdict:
        """Wait for the verdict of any order. Raises `QuizError` if nothing can be graded with its options."""
        while True:
            try:
                reply = protocol.receive_reply(self._sock, self._process.pid)
            except OSError:
                reply = None
            if reply is not None:
                order = self._attempts.pop(reply.ticket).order
                try:
                    return reply.verdict_or_raise()
                except JudgeFailed as error:  # a fault of the judge on one file must not drop the others
                    return _error_verdict(self._exercise, order.file, order.device, order.seed, error)
            lost = self._replace_judge()
            if lost is not None:
                return lost

    def _replace_judge(self) -> Verdict | None:
        """Start another judge; the verdict of an order under which two judges died, if there is one.

        Raises `JudgeFailed` if the judge stopped by itself.
        """
        self._sock.close()
        end_judge(self._process)
        if stopped_by_itself(self._process):
            raise judge_stopped()
        self._process, self._sock = start_judge(tier=self._tier)
        attempts, self._attempts = list(self._attempts.values()), {}
        guilty = None
        for attempt in attempts:
            if attempt.number >= _ATTEMPTS and guilty is None:
                guilty = attempt.order
            else:
                # Any of the orders may have killed the judge. Once one is blamed, the others are not counted.
                self.send(attempt.order, attempt.number + 1 if guilty is None else attempt.number)
        return None if guilty is None else guilty.lost_verdict(self._exercise)

    def close(self) -> None:
        """End the judge."""
        self._sock.close()
        end_judge(self._process)
