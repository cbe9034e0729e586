"""The judge's process: serves the client that started it, and other programs of the same user."""

import contextlib
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.judge.protocol import discovery, messages
from quizapp.judge.protocol.messages import ClientRequest, GradeReply, JudgeOrder, Operation, ReplyKind
from quizapp.judge.protocol.orders import TestOrder
from quizapp.judge.protocol.scripts import ScriptOrder
from quizapp.judge.sandbox.syscalls import hide_memory
from quizapp.judge.sandbox.tiers import best, describe

if TYPE_CHECKING:
    from quizapp.judge.server.grader import GradingEngine
    from quizapp.judge.server.learner_test_engine import LearnerTestEngine
    from quizapp.judge.server.script_engine import ScriptEngine


class JudgeServer:
    """Accepts orders from connections and grades them in as many threads as there are processors."""

    def __init__(
        self,
        engine: "GradingEngine",
        learner_tests: "LearnerTestEngine",
        scripts: "ScriptEngine",
        idle: float,
    ):
        self._engine = engine
        self._learner_tests = learner_tests
        self._scripts = scripts
        self._idle = idle
        self._last_order = time.monotonic()
        self._busy = 0
        self._owner_gone = threading.Event()
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(os.cpu_count() or 1)

    def serve(self, owner: socket.socket, listener: socket.socket | None) -> None:
        """Serve until the client that started this judge closes ``owner``, or no order came for a while."""
        threading.Thread(target=self._serve_owner, args=(owner,), daemon=True).start()
        if listener is not None:
            threading.Thread(target=self._accept_guests, args=(listener,), daemon=True).start()
        while not self._owner_gone.wait(min(5.0, self._idle / 4)):
            with self._lock:
                if not self._busy and time.monotonic() - self._last_order > self._idle:
                    return

    def _serve_owner(self, owner: socket.socket) -> None:
        try:
            ClientConnection(self, owner).serve()
        finally:
            self._owner_gone.set()

    def _accept_guests(self, listener: socket.socket) -> None:
        while True:
            try:
                guest, _ = listener.accept()
            except OSError:
                return
            if discovery.same_user(guest):
                threading.Thread(target=ClientConnection(self, guest).serve, daemon=True).start()
            else:
                guest.close()

    def carry_out(
        self, ticket: int, order: JudgeOrder, canceled: threading.Event, on_log: Callable[[str], None]
    ) -> GradeReply:
        """Carry out one order as soon as a processor is free. Never raises: errors become replies.

        ``on_log`` gets what a script prints, while it runs.
        """
        with self._slots:
            with self._lock:
                self._busy += 1
            try:
                if isinstance(order, TestOrder):
                    runs = self._learner_tests.run(order, canceled)
                    return GradeReply(ReplyKind.RUNS, ticket, runs=runs)
                if isinstance(order, ScriptOrder):
                    run = self._scripts.run(order, canceled, on_log)
                    return GradeReply(ReplyKind.SCRIPT, ticket, script=run)
                return GradeReply(ReplyKind.VERDICT, ticket, self._engine.grade(order, canceled))
            except QuizError as error:
                return GradeReply(ReplyKind.REFUSED, ticket, text=str(error), exit_code=error.exit_code)
            except Exception:  # noqa: BLE001 - a fault of the judge must reach the log, not end the judge
                return GradeReply(ReplyKind.BROKEN, ticket, text=traceback.format_exc())
            finally:
                with self._lock:
                    self._busy -= 1
                    self._last_order = time.monotonic()


class ClientConnection:
    """One client's connection, which knows the orders that are being graded and can cancel them."""

    def __init__(self, server: JudgeServer, sock: socket.socket):
        self._server = server
        self._sock = sock
        self._running: dict[int, threading.Event] = {}
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Accept requests until the client closes, then cancel what it asked for."""
        try:
            with contextlib.suppress(OSError):
                while (request := messages.receive_request(self._sock)) is not None:
                    self._handle(request)
        finally:
            self._cancel_all()
            self._sock.close()

    def _handle(self, request: ClientRequest) -> None:
        if request.operation == Operation.PING:
            self._send(GradeReply(ReplyKind.READY, request.ticket))
        elif request.operation == Operation.CANCEL:
            self._cancel_all()
        elif request.order is not None:
            if request.latest:
                self._cancel_all()
            canceled = threading.Event()
            with self._lock:
                self._running[request.ticket] = canceled
            arguments = (request.ticket, request.order, canceled)
            threading.Thread(target=self._carry_out, args=arguments, daemon=True).start()

    def _cancel_all(self) -> None:
        with self._lock:
            for canceled in self._running.values():
                canceled.set()

    def _carry_out(self, ticket: int, order: JudgeOrder, canceled: threading.Event) -> None:
        def on_log(text: str) -> None:
            self._send(GradeReply(ReplyKind.LOG, ticket, text=text))

        reply = GradeReply(ReplyKind.STALE, ticket)
        if not canceled.is_set():
            done = self._server.carry_out(ticket, order, canceled, on_log)
            if not canceled.is_set():
                reply = done
        with self._lock:
            self._running.pop(ticket, None)
        self._send(reply)

    def _send(self, reply: GradeReply) -> None:
        with contextlib.suppress(OSError), self._lock:
            messages.send(self._sock, reply)


def main(descriptor: str, cache: str, key: str, wanted: str, idle: str) -> int:
    """Run a judge until it is no longer needed; `quizapp.judge.client.process.start_judge` starts it.

    ``descriptor`` is the client's socket and ``cache`` the folder that remembers the tiers. Other programs
    find this judge by ``key`` (empty: not at all). ``wanted`` is the tier to warm up for (empty: the best
    one). After ``idle`` seconds without an order, the judge ends.
    """
    owner = socket.socket(fileno=int(descriptor))
    # Listen before the slow imports, so that an order that comes meanwhile waits here instead of starting a
    # second judge.
    listener = discovery.listen(key) if key else None
    reports = describe(Path(cache))
    from quizapp.judge.server.workers.worker_pool import WorkerPool  # imports torch: 1 to 3 s
    from quizapp.judge.worker.preload import warm

    warm()
    # The pool forks, so create it before the first thread and before any hidden test is in memory.
    pool = WorkerPool(best(reports, wanted or None).name)
    from quizapp.judge.server.grader import GradingEngine
    from quizapp.judge.server.learner_test_engine import LearnerTestEngine
    from quizapp.judge.server.script_engine import ScriptEngine

    if sys.platform == "linux":
        hide_memory()  # from here on this process holds hidden tests
    grading = GradingEngine(pool, reports)
    tests = LearnerTestEngine(pool, reports)
    scripts = ScriptEngine(pool, reports, grading.examiner)
    try:
        JudgeServer(grading, tests, scripts, float(idle)).serve(owner, listener)
    finally:
        if listener is not None:
            discovery.stop_listening(listener)
        grading.close()
        pool.close()
    sys.stdout.flush()
    os._exit(0)  # do not wait for threads that still grade for a client that has gone
