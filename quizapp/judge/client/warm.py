"""Keeps a warm judge for an interface: starts it in the background and replaces it when it has ended."""

import contextlib
import itertools
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.client.process import (
    IDLE_SECONDS,
    end_judge,
    judge_stopped,
    start_judge,
    stopped_by_itself,
)
from quizapp.judge.protocol import discovery, messages
from quizapp.judge.protocol.messages import ClientRequest, GradeReply, Operation, ReplyKind
from quizapp.judge.protocol.orders import GradeOrder
from quizapp.judge.verdict import Verdict

OnVerdict = Callable[[int, "Verdict | QuizError"], None]


@dataclass(frozen=True)
class _Pending:
    exercise: Exercise
    order: GradeOrder
    attempt: int = 1


class JudgeClient:
    """Submits to one warm judge; only the latest submission is ever answered.

    ``on_verdict`` gets the ticket and either the verdict or the `QuizError` that prevents one. It is called
    in a thread of this client. Meanwhile `quizapp.judge.grade` of the same user uses the same judge.
    """

    def __init__(self, on_verdict: OnVerdict | None = None, *, tier: str = "", idle: float = IDLE_SECONDS):
        self._on_verdict = on_verdict
        self._tier = tier
        self._idle = idle
        self._tickets = itertools.count(1)
        self._latest = 0
        self._lock = threading.RLock()
        self._sock: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pending: dict[int, _Pending] = {}
        self._stopped = False
        self._ready = False

    def start(self) -> None:
        """Start the judge's process. Returns at once, while the judge warms up in the background."""
        with self._lock:
            if self._sock is not None or self._stopped:
                return
            key = discovery.socket_key()
            self._process, self._sock = start_judge(socket_key=key, tier=self._tier, idle=self._idle)
            threading.Thread(target=self._listen, args=(self._sock, self._process), daemon=True).start()
            with contextlib.suppress(OSError):
                messages.send(self._sock, ClientRequest(Operation.PING))  # answered once it is warm

    def submit(
        self,
        exercise: Exercise,
        source: Path | bytes,
        *,
        device: str = "auto",
        timeout: float | None = None,
        seed: int | None = None,
        tier: str | None = None,
        stages: int | None = None,
    ) -> int:
        """Ask for a verdict and return its ticket. Cancels the previous submission.

        ``stages`` runs the tests of that many leading stages only.

        Raises `QuizError` at once for a source that cannot be graded.
        """
        tier = tier or self._tier or None
        order = GradeOrder.create(
            exercise, source, device=device, timeout=timeout, seed=seed, tier=tier, stages=stages
        )
        with self._lock:
            ticket = next(self._tickets)
            self._latest = ticket
            self._pending = {ticket: _Pending(exercise, order)}
            self._send(ticket, order)
        return ticket

    def cancel(self) -> None:
        """Cancel the current submission. Its verdict will not come."""
        with self._lock:
            self._latest = 0
            self._pending.clear()
            if self._sock is not None:
                with contextlib.suppress(OSError):
                    messages.send(self._sock, ClientRequest(Operation.CANCEL))

    def stop(self) -> None:
        """End the judge. ``on_verdict`` is not called afterwards."""
        with self._lock:
            self._stopped = True
            self._latest = 0
            sock, process = self._sock, self._process
            self._sock = self._process = None
        if sock is not None and process is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            end_judge(process)

    @property
    def ready(self) -> bool:
        """Whether the judge is warm, which its first answer shows."""
        return self._ready

    @property
    def pid(self) -> int:
        """The judge's process id; 0 if none is running."""
        with self._lock:
            return self._process.pid if self._process is not None else 0

    def _send(self, ticket: int, order: GradeOrder) -> None:
        self.start()
        if self._sock is not None:
            with contextlib.suppress(OSError):  # the listener notices that the judge has gone
                messages.send(self._sock, ClientRequest(Operation.GRADE, ticket, order, latest=True))

    def _listen(self, sock: socket.socket, process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(OSError):
            while (reply := messages.receive_reply(sock, process.pid)) is not None:
                self._accept(reply)
        sock.close()
        end_judge(process)
        with self._lock:
            if self._sock is sock:
                self._sock = self._process = None
                self._ready = False
                self._send_again(judge_failed=stopped_by_itself(process))

    def _send_again(self, *, judge_failed: bool) -> None:
        """After the judge died, send each open order to a new one, but only once and not if it failed."""
        for ticket, pending in list(self._pending.items()):
            if judge_failed:
                del self._pending[ticket]
                self._report(ticket, judge_stopped())
            elif pending.attempt == 1:
                self._pending[ticket] = replace(pending, attempt=2)
                self._send(ticket, pending.order)
            else:
                del self._pending[ticket]
                self._report(ticket, pending.order.lost_verdict(pending.exercise))

    def _accept(self, reply: GradeReply) -> None:
        with self._lock:
            self._ready = True
            if reply.kind == ReplyKind.STALE or self._pending.pop(reply.ticket, None) is None:
                return
        try:
            self._report(reply.ticket, reply.verdict_or_raise())
        except QuizError as error:
            self._report(reply.ticket, error)

    def _report(self, ticket: int, outcome: "Verdict | QuizError") -> None:
        with self._lock:
            current = ticket == self._latest and not self._stopped
        if current and self._on_verdict is not None:
            self._on_verdict(ticket, outcome)
