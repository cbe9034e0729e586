"""A warm judge kept beside an interface: started in the background, restarted when it dies or idles out."""

import contextlib
import itertools
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge import discovery, protocol
from quizapp.judge.client.process import broke, end_judge, start_judge
from quizapp.judge.orders import judge_broke, lost_verdict, order_message, read_answer
from quizapp.judge.verdict import Verdict

Told = Callable[[int, "Verdict | QuizError"], None]
IDLE_SECONDS = 15 * 60.0


class JudgeClient:
    """Submits to one warm judge; only the latest submission is ever answered.

    ``on_verdict`` is called with the ticket and the verdict, or the `QuizError` that stands in its way, in
    a thread of this client. While it runs, `grade` of the same user is warm too.
    """

    def __init__(self, on_verdict: Told | None = None, *, tier: str = "", idle: float = IDLE_SECONDS):
        self._told = on_verdict
        self._tier = tier
        self._idle = idle
        self._tickets = itertools.count(1)
        self._latest = 0
        self._lock = threading.RLock()
        self._sock: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pending: dict[int, tuple[Exercise, dict[str, Any], int]] = {}
        self._stopped = False
        self._ready = False

    def start(self) -> None:
        """Start the judge's process; returns at once, the judge warms up by itself."""
        with self._lock:
            if self._sock is not None or self._stopped:
                return
            door = discovery.socket_key()
            self._process, self._sock = start_judge(door=door, tier=self._tier, idle=self._idle)
            threading.Thread(target=self._listen, args=(self._sock, self._process), daemon=True).start()
            with contextlib.suppress(OSError):
                protocol.send(self._sock, {"op": "ping", "id": 0})  # answered once it is warm

    def submit(
        self,
        exercise: Exercise,
        source: Path | bytes,
        *,
        device: str = "auto",
        timeout: float | None = None,
        seed: int | None = None,
        tier: str | None = None,
    ) -> int:
        """Ask for a verdict and return its ticket; calls off what was asked before.

        A source that cannot be graded raises `QuizError` at once.
        """
        order = order_message(
            exercise, source, device=device, timeout=timeout, seed=seed, tier=tier or self._tier or None
        )
        with self._lock:
            ticket = next(self._tickets)
            self._latest = ticket
            self._pending = {ticket: (exercise, order, 1)}
            self._send(ticket, order)
        return ticket

    def cancel(self) -> None:
        """Call off what was asked; its verdict will not come."""
        with self._lock:
            self._latest = 0
            self._pending.clear()
            if self._sock is not None:
                with contextlib.suppress(OSError):
                    protocol.send(self._sock, {"op": "cancel"})

    def stop(self) -> None:
        """End the judge. Nothing is told afterwards."""
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
        """Whether the judge has warmed up: it answered since it was started."""
        return self._ready

    @property
    def pid(self) -> int:
        """The judge's process, 0 if none runs."""
        with self._lock:
            return self._process.pid if self._process is not None else 0

    def _send(self, ticket: int, order: dict[str, Any]) -> None:
        self.start()
        if self._sock is not None:
            with contextlib.suppress(OSError):  # a judge that has gone is noticed by the listener
                protocol.send(self._sock, order | {"id": ticket, "latest": True})

    def _listen(self, sock: socket.socket, process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(OSError):
            while (answer := protocol.receive_from(sock, process.pid)) is not None:
                self._take(answer)
        sock.close()
        end_judge(process)
        with self._lock:
            if self._sock is sock:
                self._sock = self._process = None
                self._ready = False
                self._again(broken=broke(process))

    def _again(self, *, broken: bool) -> None:
        """The judge died: what was asked goes to a new one, once; not where it stopped by itself."""
        for ticket, (exercise, order, attempt) in list(self._pending.items()):
            if broken:
                del self._pending[ticket]
                self._tell(ticket, judge_broke())
            elif attempt == 1:
                self._pending[ticket] = (exercise, order, 2)
                self._send(ticket, order)
            else:
                del self._pending[ticket]
                self._tell(ticket, lost_verdict(exercise, order))

    def _take(self, answer: dict[str, Any]) -> None:
        ticket = answer["id"]
        with self._lock:
            self._ready = True
            if "stale" in answer or self._pending.pop(ticket, None) is None:
                return
        try:
            self._tell(ticket, read_answer(answer))
        except QuizError as error:
            self._tell(ticket, error)

    def _tell(self, ticket: int, outcome: "Verdict | QuizError") -> None:
        with self._lock:
            current = ticket == self._latest and not self._stopped
        if current and self._told is not None:
            self._told(ticket, outcome)
