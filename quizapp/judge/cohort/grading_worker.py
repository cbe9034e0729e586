"""Runs in a worker process of the cluster: grades submissions with a judge that stays warm.

The submission itself runs in the judge's own isolated worker, never in this process.
"""

import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.client.process import end_judge, judge_stopped, start_judge, stopped_by_itself
from quizapp.judge.cohort.cluster_messages import ClusterOrder, ClusterReply
from quizapp.judge.cohort.grading_version import exercise_version, judge_version
from quizapp.judge.protocol import messages
from quizapp.judge.protocol.messages import ClientRequest, JudgeFailed, Operation
from quizapp.judge.protocol.orders import GradeOrder
from quizapp.judge.sandbox.tiers import best, describe
from quizapp.judge.verdict import Verdict


class WorkerJudge:
    """The one judge of this process, started for the first order and replaced when it has ended.

    It takes one order at a time, so that a submission that kills it (possible only at T0) is known.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None

    def start(self) -> None:
        """Start the judge unless it is running. Returns at once, while it warms up."""
        with self._lock:
            self._start("")

    def stop(self) -> None:
        """End the judge, unless it is grading: then it ends with this process, or when it is idle."""
        if self._lock.acquire(blocking=False):  # the caller is Dask's event loop, which must not wait
            try:
                self._end()
            finally:
                self._lock.release()

    def grade(self, order: GradeOrder, exercise: Exercise) -> Verdict:
        """Grade one submission. Raises `QuizError` if the judge refuses it or fails."""
        with self._lock:
            deaths = 0
            while deaths < 2:
                process, sock = self._start(order.tier or "")
                try:
                    messages.send(sock, ClientRequest(Operation.GRADE, 1, order))
                    reply = messages.receive_reply(sock, process.pid)
                except OSError:
                    reply = None
                if reply is not None:
                    return reply.verdict_or_raise()
                self._end()
                if stopped_by_itself(process):
                    raise judge_stopped()
                # A judge that had nothing to do for a while has ended with 0, which is no death.
                deaths += process.returncode != 0
            return order.lost_verdict(exercise)

    def _start(self, tier: str) -> tuple["subprocess.Popen[bytes]", socket.socket]:
        if self._process is None or self._sock is None:
            self._process, self._sock = start_judge(tier=tier)
        return self._process, self._sock

    def _end(self) -> None:
        if self._process is not None and self._sock is not None:
            self._sock.close()
            end_judge(self._process)
        self._process = self._sock = None


_judge = WorkerJudge()


class JudgePlugin(WorkerPlugin):
    """Warms a worker's judge up as soon as the worker joins, and ends it with the worker."""

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's interface
        """Start the judge."""
        _judge.start()

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's interface
        """End the judge."""
        _judge.stop()


def worker_tier() -> str:
    """The best isolation tier on the machine of this worker."""
    return best(describe()).name


def grade_on_worker(message: Mapping[str, Any]) -> dict[str, Any]:
    """Grade the order in ``message`` and return the reply as plain data. Runs as a task of Dask."""
    return replace(_reply(message), worker=str(get_worker().name)).as_message()


def _reply(message: Mapping[str, Any]) -> ClusterReply:
    try:
        order = ClusterOrder.from_message(message)
        exercise = _matching_exercise(order)
        grade_order = GradeOrder.create(
            exercise,
            order.source,
            device=order.device,
            timeout=order.timeout,
            seed=order.seed,
            tier=order.tier,
        )
    except TypeError:
        return ClusterReply(
            text="has another quizapp than the client; install the same on both", refused=True
        )
    except QuizError as error:  # such as a missing torch: no submission can be graded here
        return ClusterReply(text=str(error), refused=True)
    try:
        # The other workers keep the processors busy, so do not run the seeds in parallel.
        grade_order = replace(grade_order, file=order.file).one_by_one()
        return ClusterReply(_judge.grade(grade_order, exercise))
    except JudgeFailed as error:
        return ClusterReply(text=str(error))
    except QuizError as error:
        return ClusterReply(text=str(error), refused=True)


def _matching_exercise(order: ClusterOrder) -> Exercise:
    """This machine's own copy of the exercise. Raises `QuizError` if the client's is another."""
    if order.judge_version != judge_version():
        raise QuizError(
            f"has quizapp {judge_version()} and the client {order.judge_version}; install the same on both"
        )
    exercise, _ = load_exercise(paths.exercises() / order.exercise)
    if exercise is None:
        raise QuizError(f"has no exercise '{order.exercise}'; install the client's quizapp there")
    if exercise_version(exercise) != order.exercise_version:
        raise QuizError(
            f"has another version of the exercise '{order.exercise}'; install the client's quizapp there"
        )
    return exercise
