"""Has a judge run a training script; imports neither torch nor the script."""

import itertools
import socket
import threading
from collections.abc import Callable
from typing import Self

from quizapp.errors import QuizError
from quizapp.judge.client.judge_connection import JudgeConnection
from quizapp.judge.client.process import judge_stopped
from quizapp.judge.protocol import messages
from quizapp.judge.protocol.messages import ClientRequest, Operation, ReplyKind
from quizapp.judge.protocol.scripts import ScriptOrder, ScriptOutcome, ScriptRun
from quizapp.judge.submission import MAX_SOURCE, check_source

_CANCELED = "This run was canceled."


class ScriptClient:
    """A connection to a judge that runs scripts: this user's warm judge, or one of its own.

    It runs one script at a time.
    """

    def __init__(self, *, tier: str = ""):
        self._connection = JudgeConnection(tier)
        self._tickets = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(
        self,
        order: ScriptOrder,
        on_line: Callable[[str], None] | None = None,
        canceled: threading.Event | None = None,
    ) -> ScriptRun:
        """Run a script to its end. This blocks; ``on_line`` gets each line that it prints, in this thread.

        Setting ``canceled`` ends the run early. Raises `QuizError` if the judge fails.
        """
        source = order.source.encode(errors="surrogatepass")
        if len(source) > MAX_SOURCE:
            text = f"The script is larger than {MAX_SOURCE >> 10} KiB; shorten it."
            return ScriptRun(ScriptOutcome.REFUSED, text, seed=order.seed)
        try:
            check_source(source, "The script")
        except QuizError as error:
            return ScriptRun(ScriptOutcome.REFUSED, str(error), seed=order.seed)
        for _ in range(2):  # at T0, a script can kill the judge
            attempt = _Attempt(order, on_line, canceled, next(self._tickets))
            try:
                sock, judge_pid = self._connection.open()
                run = attempt.run(sock, judge_pid)
            except OSError:
                run = None
            if run is not None:
                return run
            self._connection.close()
            if attempt.lines:
                text = "The judge died while the script ran; a script must not kill its parent."
                return ScriptRun(ScriptOutcome.KILLED, text, attempt.log, seed=order.seed)
        raise judge_stopped()

    def connect(self) -> None:
        """Connect now, so that the judge is warm by the first run."""
        self._connection.open_early()

    def close(self) -> None:
        """Close the connection, and end the judge if it was started for it."""
        self._connection.close()


class _Attempt:
    """One order on its way through one judge."""

    def __init__(
        self,
        order: ScriptOrder,
        on_line: Callable[[str], None] | None,
        canceled: threading.Event | None,
        ticket: int,
    ):
        self._order = order
        self._on_line = on_line
        self._canceled = canceled
        self._ticket = ticket
        self._cancel_sent = False
        self.lines: list[str] = []

    @property
    def log(self) -> str:
        """The lines that have arrived."""
        return "".join(f"{line}\n" for line in self.lines)

    def run(self, sock: socket.socket, judge_pid: int) -> ScriptRun | None:
        """Send the order and wait for its result; None if the judge hangs up before."""
        messages.send(sock, ClientRequest(Operation.RUN_SCRIPT, self._ticket, self._order))
        while (reply := messages.receive_reply(sock, judge_pid, lambda: self._cancel(sock))) is not None:
            self._cancel(sock)
            if reply.ticket != self._ticket:
                continue
            if reply.kind == ReplyKind.LOG:
                self._pass_on(reply.text.splitlines())
            elif reply.kind == ReplyKind.STALE:
                return ScriptRun(ScriptOutcome.CANCELED, _CANCELED, self.log, seed=self._order.seed)
            else:
                return reply.script_or_raise()
        return None

    def _cancel(self, sock: socket.socket) -> None:
        if self._canceled is not None and self._canceled.is_set() and not self._cancel_sent:
            self._cancel_sent = True
            messages.send(sock, ClientRequest(Operation.CANCEL))

    def _pass_on(self, lines: list[str]) -> None:
        self.lines += lines
        if self._on_line is not None:
            for line in lines:
                self._on_line(line)
