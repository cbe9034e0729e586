"""Grades one submission and waits for the verdict; imports neither torch nor the user's code."""

import socket
from pathlib import Path

from quizapp.bank.model import Exercise
from quizapp.judge.client.process import end_judge, judge_stopped, start_judge, stopped_by_itself
from quizapp.judge.protocol import discovery, messages
from quizapp.judge.protocol.messages import ClientRequest, GradeReply, Operation
from quizapp.judge.protocol.orders import GradeOrder
from quizapp.judge.verdict import Verdict


def grade(
    exercise: Exercise,
    source: Path | bytes,
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
    stages: int | None = None,
) -> Verdict:
    """Grade one submission, a file or its bytes. Uses this user's warm judge if one is running.

    ``timeout`` is in seconds for one run (default: the exercise's own). ``seed`` reproduces a verdict.
    ``tier`` (T0 to T3) forces a lower isolation. ``stages`` runs the tests of that many leading stages only.
    Raises `QuizError` if the file cannot be graded or an option
    is wrong, such as a device that does not exist.
    """
    order = GradeOrder.create(
        exercise, source, device=device, timeout=timeout, seed=seed, tier=tier, stages=stages
    )
    # Code at T0 can kill the judge, but so can other causes: blame the code only if a new judge dies twice.
    reply = _ask_warm_judge(order) or _ask_new_judge(order) or _ask_new_judge(order)
    return order.lost_verdict(exercise) if reply is None else reply.verdict_or_raise()


def _ask(sock: socket.socket, judge_pid: int, order: GradeOrder) -> GradeReply | None:
    """The judge's reply, or None if it has gone. ``judge_pid`` is 0 unless the judge is our child."""
    try:
        messages.send(sock, ClientRequest(Operation.GRADE, 1, order))
        return messages.receive_reply(sock, judge_pid)
    except OSError:
        return None


def _ask_warm_judge(order: GradeOrder) -> GradeReply | None:
    """The reply of this user's warm judge, or None if there is none or it dies."""
    sock = discovery.connect_running(discovery.socket_key())
    if sock is None:
        return None
    with sock:
        return _ask(sock, 0, order)


def _ask_new_judge(order: GradeOrder) -> GradeReply | None:
    """The reply of a judge started for this order, or None if the judge was killed.

    Raises `JudgeFailed` if it stopped by itself.
    """
    process, sock = start_judge(tier=order.tier or "")
    try:
        with sock:
            reply = _ask(sock, process.pid, order)
    finally:
        end_judge(process)
    if reply is None and stopped_by_itself(process):
        raise judge_stopped()
    return reply
