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
) -> Iterator[Verdict | QuizError]:
    """Grade ``path`` now and after each save, until the generator is closed.

    A save cancels the grade that is running, so no verdict is ever stale. A save that cannot be graded gives
    the `QuizError` that says why. The file may be missing for a moment, as with editors that save by
    renaming. Raises `QuizError` if it cannot be graded at the start.
    """
    answers: queue.SimpleQueue[tuple[int, Verdict | QuizError]] = queue.SimpleQueue()
    client = JudgeClient(lambda ticket, outcome: answers.put((ticket, outcome)), tier=tier or "")
    client.start()
    refused: QuizError | None = None
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
                    refused = None
                except QuizError as error:
                    client.cancel()  # what is being graded is no longer in the file
                    ticket, refused = 0, error
                    time.sleep(POLL_SECONDS)
                    continue
            elif refused is not None:  # not half written: it stays as it is
                told, refused = refused, None
                yield told
            try:
                answered, outcome = answers.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            now = _stamp(path)
            if answered == ticket and now is None:
                seen = None  # if the same file comes back, it is graded again
            if answered != ticket or now != seen or now is None:  # the file was saved again meanwhile
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
