"""What the interfaces call to have a submission graded; imports neither torch nor the user's code."""

import socket
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.judge import discovery, protocol
from quizapp.judge.client.process import broke, end_judge, start_judge
from quizapp.judge.client.warm import JudgeClient
from quizapp.judge.orders import JudgeFailed, judge_broke, lost_verdict, order_message, read_answer
from quizapp.judge.verdict import Verdict

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
    answer = _ask_warm(order) or _ask_cold(order) or _ask_cold(order)
    return lost_verdict(exercise, order) if answer is None else read_answer(answer)


def _ask(sock: socket.socket, judge: int, order: dict[str, Any]) -> dict[str, Any] | None:
    """The answer, or None if the judge is gone before it; ``judge`` is its process if it is ours, else 0."""
    try:
        protocol.send(sock, order | {"id": 1})
        return protocol.receive_from(sock, judge)
    except OSError:
        return None


def _ask_warm(order: dict[str, Any]) -> dict[str, Any] | None:
    """The answer of this user's warm judge, or None if there is none or it dies."""
    sock = discovery.connect_running(discovery.socket_key())
    if sock is None:
        return None
    with sock:
        return _ask(sock, 0, order)


def _ask_cold(order: dict[str, Any]) -> dict[str, Any] | None:
    """The answer of a judge of our own, or None if it was killed; `JudgeFailed` if it stopped by itself."""
    process, sock = start_judge(tier=order["tier"] or "")
    try:
        with sock:
            answer = _ask(sock, process.pid, order)
    finally:
        end_judge(process)
    if answer is None and broke(process):
        raise judge_broke()
    return answer
