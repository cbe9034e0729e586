"""What the interfaces call to have a submission graded; imports neither torch nor the user's code."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.judge import rendezvous, wire
from quizapp.judge.launch import end_judge, start_judge
from quizapp.judge.orders import JudgeFailed, lost_verdict, order_message, read_answer
from quizapp.judge.verdict import Verdict
from quizapp.judge.warmclient import JudgeClient

Connection = tuple[socket.socket, int]  # and the process at its other end, 0 if it is not ours

__all__ = ["JudgeClient", "JudgeFailed", "grade"]


def grade(
    exercise: Exercise,
    source: Path | bytes,
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
) -> Verdict:
    """The verdict on one submission: a file, or its bytes. Uses this user's warm judge if one runs.

    ``timeout`` in seconds for one run (default: the exercise's own); ``seed`` reproduces a verdict;
    ``tier`` (T0 to T3) forces a lower isolation. A file that cannot be graded, an absent device and the
    like raise `QuizError`.
    """
    order = order_message(exercise, source, device=device, timeout=timeout, seed=seed, tier=tier)
    for connect in (_warm, _cold, _cold):
        with connect(tier or "") as sock:
            answer = _ask(*sock, order) if sock is not None else None
        if answer is not None:
            return read_answer(answer)
    return lost_verdict(exercise, order)


def _ask(sock: socket.socket, judge: int, order: dict[str, Any]) -> dict[str, Any] | None:
    """The answer, or None if the judge is gone before it."""
    try:
        wire.send(sock, order | {"id": 1})
        return wire.receive_from(sock, judge)
    except OSError:
        return None


@contextlib.contextmanager
def _warm(_: str) -> Iterator[Connection | None]:
    sock = rendezvous.knock(rendezvous.door_key())
    with sock if sock is not None else contextlib.nullcontext():
        yield None if sock is None else (sock, 0)


@contextlib.contextmanager
def _cold(tier: str) -> Iterator[Connection | None]:
    process, sock = start_judge(tier=tier)
    try:
        with sock:
            yield sock, process.pid
    finally:
        end_judge(process)
