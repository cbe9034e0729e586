"""The judge's link to its examiner: sends requests, and replaces an examiner that has died or hangs."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from quizapp.errors import QuizError
from quizapp.judge.sandbox.launch import clean_environment, python_command
from quizapp.judge.server.examiner import (
    LENGTH,
    ClosedReply,
    CloseRequest,
    RefusedReply,
    Reply,
    Request,
    UnknownSession,
    fork_examiner,
    receive,
)
from quizapp.judge.server.script_evidence import ScriptRequest
from quizapp.judge.server.workers.worker_pool import WorkerPool

_WALL_SECONDS = 120.0  # far beyond its own limit on processor time: it waits for nothing but the judge
_Answer = TypeVar("_Answer")


class ExaminerLost(ConnectionError):
    """The examiner died, and with it every session. Grades that were under way begin again."""


class ExaminerOverrun(ExaminerLost):
    """The examiner was ended because this request exceeded the limits on time or memory."""


class ExaminerLink:
    """Sends requests to an examiner, one at a time. Safe for several threads.

    The first examiner is forked from this process, which is fast but needs a single thread.
    """

    def __init__(self, pool: WorkerPool):
        self._pool = pool
        self._lock = threading.Lock()
        self._sessions: set[str] = set()
        self._closed = False
        self._closing = ThreadPoolExecutor(1, "examiner-sessions")
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Reply).decode
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform == "linux":
            self._sock, self._pid = fork_examiner()
            pool.helpers.add(self._pid)
        else:
            self._start()

    def _start(self) -> None:
        self._pid = self._pool.start_helper(self._spawn)

    def _spawn(self) -> int:
        self._sock, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                python_command("quizapp.judge.server.examiner", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=clean_environment(),
                start_new_session=True,
            )
        return self._process.pid

    def ask(self, request: Request, kind: type[_Answer]) -> _Answer:
        """Send one request and return the reply, which must be of the type ``kind``.

        Raises `ExaminerLost` if the examiner has died, and `QuizError` if the exercise is broken.
        """
        with self._lock:
            reply = self._exchange(request)
            self._note_session(request, reply)
        if isinstance(reply, RefusedReply):
            raise QuizError(reply.text)
        if isinstance(reply, UnknownSession):
            raise ExaminerLost("another grade's evidence ended the examiner")
        assert isinstance(reply, kind)
        return reply

    def close_session(self, session: str) -> None:
        """Close a session. Nobody waits for that, so a thread of the link does it."""
        self._closing.submit(self._close_session, session)

    def _close_session(self, session: str) -> None:
        with contextlib.suppress(ExaminerLost), self._lock:
            if session in self._sessions:
                self._note_session(request := CloseRequest(session), self._exchange(request))

    def _exchange(self, request: Request) -> Reply:
        frame = self._encode(request)
        try:
            self._sock.sendall(LENGTH.pack(len(frame)) + frame)
            self._wait()
            answer = receive(self._sock)
        except OSError:
            answer = None
        if answer is None:
            overrun = self._replace()
            raise (ExaminerOverrun if overrun else ExaminerLost)("the examiner has died")
        reply: Reply = self._decode(answer)
        return reply

    def _note_session(self, request: Request, reply: Reply) -> None:
        if isinstance(request, ScriptRequest):
            return  # it needs nothing but itself
        if not isinstance(request, CloseRequest):
            self._sessions.add(request.session)
            return
        self._sessions.discard(request.session)
        if isinstance(reply, ClosedReply) and reply.worn and not self._sessions:
            self._replace()

    def _wait(self) -> None:
        """Wait for the reply. At T1 a submission may stop the examiner by a signal: tell it to continue."""
        limit = time.monotonic() + _WALL_SECONDS
        while not select.select([self._sock], [], [], 0.5)[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT if time.monotonic() < limit else signal.SIGXCPU)

    def _replace(self) -> bool:
        """Start another examiner. Returns whether the last one was ended by its limit on processor time."""
        self._sock.close()
        status = self._end()
        self._sessions.clear()
        self._pool.helpers.discard(self._pid)
        if not self._closed:
            self._start()
        return status == signal.SIGXCPU

    def _end(self) -> int:
        """Kill the examiner. Returns the signal that had ended it, or 0."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return max(0, -self._process.wait(0.5))
            self._process.kill()
            self._process.wait()
            return 0
        return self._reap_forked()

    def _reap_forked(self) -> int:
        limit = time.monotonic() + 0.5
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            while True:
                done, status = os.waitpid(self._pid, os.WNOHANG)
                if done:
                    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
                if time.monotonic() > limit:
                    os.kill(self._pid, signal.SIGKILL)
                time.sleep(0.002)
        return 0

    def close(self) -> None:
        """End the examiner."""
        self._closed = True
        self._closing.shutdown(cancel_futures=True)
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._end()
        self._sock.close()
