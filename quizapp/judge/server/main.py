"""The judge as a process: answers the client that started it, and others of the same user."""

import base64
import contextlib
import os
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quizapp.errors import QuizError
from quizapp.judge import discovery, protocol
from quizapp.judge.sandbox.syscalls import hide_memory
from quizapp.judge.sandbox.tiers import best, describe

if TYPE_CHECKING:
    from quizapp.judge.server.grader import GradingEngine

IDLE_SECONDS = 15 * 60


class JudgeServer:
    """Takes orders from connections and grades them in a few threads."""

    def __init__(self, engine: "GradingEngine", idle: float):
        self._engine = engine
        self._idle = idle
        self._last = time.monotonic()
        self._busy = 0
        self._gone = threading.Event()
        self._client: socket.socket | None = None
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(os.cpu_count() or 1)

    def serve(self, client: socket.socket, door: socket.socket | None) -> None:
        """Serve until ``client``, which started this judge, goes, or nothing was asked for some minutes."""
        self._client = client
        threading.Thread(target=self._connection, args=(client,), daemon=True).start()
        if door is not None:
            threading.Thread(target=self._welcome, args=(door,), daemon=True).start()
        while not self._gone.wait(min(5.0, self._idle / 4)):
            with self._lock:
                if not self._busy and time.monotonic() - self._last > self._idle:
                    return

    def _welcome(self, door: socket.socket) -> None:
        while True:
            try:
                guest, _ = door.accept()
            except OSError:
                return
            if discovery.same_user(guest):
                threading.Thread(target=self._connection, args=(guest,), daemon=True).start()
            else:
                guest.close()

    def _connection(self, sock: socket.socket) -> None:
        desk = ClientConnection(self, sock)
        with contextlib.suppress(OSError):
            while (message := protocol.receive(sock)) is not None:
                desk.take(message)
        desk.close()
        if sock is self._client:
            self._gone.set()

    def grade(self, message: dict[str, Any], cancelled: threading.Event) -> dict[str, Any]:
        """The answer to one order."""
        with self._slots:
            with self._lock:
                self._busy += 1
            try:
                return self._answer(message, cancelled)
            finally:
                with self._lock:
                    self._busy -= 1
                    self._last = time.monotonic()

    def _answer(self, message: dict[str, Any], cancelled: threading.Event) -> dict[str, Any]:
        from quizapp.judge.server.grader import GradeOrder

        ticket = message.get("id")
        try:
            order = GradeOrder(
                folder=Path(message["folder"]),
                source=base64.b64decode(message["source"]),
                file=message["file"],
                device=message["device"],
                timeout=message["timeout"],
                seed=message["seed"],
                tier=message["tier"],
            )
            if message.get("after"):
                order = order.one_by_one()
            return {"id": ticket, "verdict": self._engine.grade(order, cancelled).as_json()}
        except QuizError as error:
            return {"id": ticket, "fault": str(error), "exit": error.exit_code}
        except Exception:  # noqa: BLE001 - what breaks in the judge must reach the log, not end the judge
            return {"id": ticket, "broken": traceback.format_exc()}


class ClientConnection:
    """One connection: its orders, the ones under way, and which of them are called off."""

    def __init__(self, server: JudgeServer, sock: socket.socket):
        self._server = server
        self._sock = sock
        self._under_way: dict[int, threading.Event] = {}
        self._lock = threading.Lock()

    def take(self, message: dict[str, Any]) -> None:
        """Begin an order, or call off those before it."""
        if message["op"] == "ping":
            self._send({"id": message["id"], "pong": os.getpid()})
        elif message["op"] == "cancel":
            self._call_off()
        elif message["op"] == "grade":
            if message.get("latest"):
                self._call_off()
            cancelled = threading.Event()
            with self._lock:
                self._under_way[message["id"]] = cancelled
            threading.Thread(target=self._grade, args=(message, cancelled), daemon=True).start()

    def _call_off(self) -> None:
        with self._lock:
            for cancelled in self._under_way.values():
                cancelled.set()

    def _grade(self, message: dict[str, Any], cancelled: threading.Event) -> None:
        answer = {"id": message["id"], "stale": True}
        if not cancelled.is_set():
            answer = self._server.grade(message, cancelled)
        if cancelled.is_set():
            answer = {"id": message["id"], "stale": True}
        with self._lock:
            self._under_way.pop(message["id"], None)
        self._send(answer)

    def _send(self, answer: dict[str, Any]) -> None:
        with contextlib.suppress(OSError), self._lock:
            protocol.send(self._sock, answer)

    def close(self) -> None:
        """The other side has gone: call off what it wanted."""
        self._call_off()
        self._sock.close()


def main(descriptor: str, cache: str, key: str, wanted: str = "", idle: str = str(IDLE_SECONDS)) -> int:
    """Be a judge: ``descriptor`` is the socket of the client, ``key`` names the door for others.

    ``wanted`` is the tier to warm up for, if not the best one; ``idle`` the seconds after which to end.
    """
    client = socket.socket(fileno=int(descriptor))
    # Open before the slow imports: a grade that comes meanwhile waits here and starts no second judge.
    door = discovery.listen(key) if key else None
    reports = describe(Path(cache))
    from quizapp.judge.server.worker_pool import WorkerPool  # imports torch: 1 to 3 s
    from quizapp.judge.worker.preload import warm

    warm()
    # It forks: before the first thread and the first hidden test.
    pool = WorkerPool(best(reports, wanted or None).name)
    from quizapp.judge.server.grader import GradingEngine

    if sys.platform == "linux":
        hide_memory()  # from here on it holds hidden tests
    try:
        JudgeServer(GradingEngine(pool, reports), float(idle)).serve(client, door)
    finally:
        if door is not None:
            discovery.stop_listening(door)
        pool.close()
    sys.stdout.flush()
    os._exit(0)  # threads still grading for someone who has gone are not waited for
