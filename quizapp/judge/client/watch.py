"""Watch mode: a verdict for every save of a file. The last save wins."""

import queue
import time
from collections.abc import Iterator
from pathlib import Path

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.client.warm import JudgeClient
from quizapp.judge.verdict import Verdict

POLL_SECONDS = 0.1


def watch(
    exercise: Exercise,
    path: Path,
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
) -> Iterator[Verdict]:
    """Grade ``path`` now and after each save, until the generator is closed.

    A save cancels the grade that is running, so no verdict is ever stale. The file may be missing for a
    moment, as with editors that save by renaming. Raises `QuizError` if it cannot be graded at the start.
    """
    answers: queue.SimpleQueue[tuple[int, Verdict | QuizError]] = queue.SimpleQueue()
    client = JudgeClient(lambda ticket, outcome: answers.put((ticket, outcome)), tier=tier or "")
    client.start()
    try:
        seen = _stamp(path)
        ticket = client.submit(exercise, path, device=device, timeout=timeout, seed=seed, tier=tier)
        while True:
            now = _stamp(path)
            if now is not None and now != seen:
                seen = now
                try:
                    ticket = client.submit(
                        exercise, path, device=device, timeout=timeout, seed=seed, tier=tier
                    )
                except QuizError:  # half written, or gone again: wait for the next save
                    time.sleep(POLL_SECONDS)
                    continue
            try:
                answered, outcome = answers.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if answered != ticket or _stamp(path) != seen:  # the file was saved again meanwhile
                continue
            if isinstance(outcome, QuizError):
                raise outcome
            yield outcome
    finally:
        client.stop()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Something that changes with every save; None while the file is missing."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
