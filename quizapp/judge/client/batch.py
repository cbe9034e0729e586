"""Grades many submissions with one judge: a bounded number at a time, and each file for itself."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge import protocol
from quizapp.judge.client.process import broke, end_judge, start_judge
from quizapp.judge.devices import check_name
from quizapp.judge.orders import judge_broke, lost_verdict, order_message, read_answer
from quizapp.judge.verdict import ERROR, Verdict

_ATTEMPTS = 2


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
    """A verdict for each file (or each ``.py`` file of a folder), in the order in which they are done.

    At most ``jobs`` are under way at a time. A file that cannot be read gets a verdict of status error; an
    absent device or a senseless limit raises `QuizError`.
    """
    order_message(exercise, b"", device=check_name(device), timeout=timeout, seed=seed, tier=tier)
    names = iter(sorted(files.glob("*.py")) if isinstance(files, Path) else files)
    bench = _Bench(exercise, tier or "")
    try:
        while True:
            for path in itertools.islice(names, max(1, jobs) - len(bench.orders)):
                try:
                    order = order_message(
                        exercise, path, device=device, timeout=timeout, seed=seed, tier=tier
                    )
                except QuizError as error:
                    yield Verdict(exercise.slug, str(path), device, ERROR, error=str(error), seed=seed or 0)
                else:
                    # With several files at work, two seeds at once would only crowd the processors.
                    bench.send(order | {"after": jobs > 1})
            if not bench.orders:
                break
            yield bench.next_verdict()
    finally:
        bench.close()


class _Bench:
    """A judge of our own with the orders that it has; replaced when a submission takes it down."""

    def __init__(self, exercise: Exercise, tier: str):
        self.orders: dict[int, tuple[dict[str, Any], int]] = {}
        self._exercise = exercise
        self._tier = tier
        self._numbers = itertools.count(1)
        self._process, self._sock = start_judge(tier=tier)

    def send(self, order: dict[str, Any], attempt: int = 1) -> None:
        """Give the judge one more order."""
        number = next(self._numbers)
        self.orders[number] = (order, attempt)
        with contextlib.suppress(OSError):  # a judge that is gone is noticed when its answer does not come
            protocol.send(self._sock, order | {"id": number})

    def next_verdict(self) -> Verdict:
        """Wait for any verdict."""
        while True:
            try:
                answer = protocol.receive_from(self._sock, self._process.pid)
            except OSError:
                answer = None
            if answer is not None:
                self.orders.pop(answer["id"])
                return read_answer(answer)
            lost = self._replace()
            if lost is not None:
                return lost

    def _replace(self) -> Verdict | None:
        """Start another judge; an order that saw two judges die is at fault and gets its verdict.

        Raises `JudgeFailed` where the judge stopped by itself.
        """
        self._sock.close()
        end_judge(self._process)
        if broke(self._process):
            raise judge_broke()
        self._process, self._sock = start_judge(tier=self._tier)
        orders, self.orders = list(self.orders.values()), {}
        blamed = None
        for order, attempt in orders:
            if attempt >= _ATTEMPTS and blamed is None:
                blamed = order
            else:
                # With several at work the guilty one is not known yet: the others start afresh.
                self.send(order, attempt + 1 if blamed is None else attempt)
        return None if blamed is None else lost_verdict(self._exercise, blamed)

    def close(self) -> None:
        """End the judge."""
        self._sock.close()
        end_judge(self._process)
