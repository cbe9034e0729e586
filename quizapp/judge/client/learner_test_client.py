"""Has a judge run a learner's test on several programs; imports neither torch nor the programs."""

import itertools
from collections.abc import Sequence
from typing import Self

from quizapp.bank.model import Exercise
from quizapp.judge.client.judge_connection import JudgeConnection
from quizapp.judge.client.process import judge_stopped
from quizapp.judge.protocol import messages
from quizapp.judge.protocol.messages import ClientRequest, Operation
from quizapp.judge.protocol.orders import TestOrder
from quizapp.judge.submission import check_source
from quizapp.judge.verdict import ProgramRun


class LearnerTestClient:
    """A connection to a judge that runs tests: this user's warm judge, or one of its own."""

    def __init__(self, *, tier: str = "", seconds: float = 5.0):
        self._tier = tier
        self._seconds = seconds
        self._tickets = itertools.count(1)
        self._connection = JudgeConnection(tier)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(
        self, exercise: Exercise, test: str, programs: Sequence[str], *, seed: int = 0
    ) -> list[ProgramRun]:
        """Run ``test`` on each of ``programs``; ``seed`` sets the random state.

        Raises `QuizError` if the test is too large or not UTF-8, or if the judge fails.
        """
        check_source(test.encode(errors="surrogatepass"), "your test")
        folder = exercise.folder.absolute()
        order = TestOrder(folder, test, tuple(programs), seed, self._seconds, self._tier or None)
        for _ in range(2):  # at T0, code can kill the judge
            try:
                sock, judge_pid = self._connection.open()
                messages.send(sock, ClientRequest(Operation.RUN_TEST, next(self._tickets), order))
                reply = messages.receive_reply(sock, judge_pid)
            except OSError:
                reply = None
            if reply is not None:
                return list(reply.runs_or_raise())
            self.close()
        raise judge_stopped()

    def connect(self) -> None:
        """Connect now. A judge that this starts can be found by other programs of this user meanwhile."""
        self._connection.open_early()

    def close(self) -> None:
        """Close the connection, and end the judge if it was started for it."""
        self._connection.close()
