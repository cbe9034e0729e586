"""The judge's link to a zygote: sends commands over a socket, and replaces a zygote that has died."""

import contextlib
import itertools
import os
import select
import signal
import socket
import subprocess
import threading
import time

from quizapp.judge.sandbox.launch import clean_environment, python_command
from quizapp.judge.server.workers.zygote import (
    MAX_MESSAGE,
    ZygoteAnswer,
    ZygoteCommand,
    ZygoteOperation,
    fork_zygote,
)

_ANSWER_TIMEOUT_S = 60.0


class ZygoteLost(ConnectionError):
    """The zygote has died. The next worker comes from a new one."""


class ZygoteLink:
    """Sends commands to a zygote; starts another one when it has died.

    With ``fork``, the first zygote is forked from this process, which is fast but needs a single thread.
    """

    def __init__(self, *, namespaces: bool, fork: bool):
        self._namespaces = namespaces
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._replaced = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._forked: int | None = None
        if fork:
            self._control, self._forked = fork_zygote(namespaces=namespaces)
            if namespaces:
                self._forked = None  # that process has already ended; the zygote is its child
        else:
            self._control = self._spawn()

    def _spawn(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arguments = (str(theirs.fileno()), str(int(self._namespaces)))
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                python_command("quizapp.judge.server.workers.zygote", *arguments),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=clean_environment(),
                start_new_session=True,
            )
        return ours

    def ask(
        self, command: ZygoteCommand, descriptors: tuple[int, ...] = (), generation: int | None = None
    ) -> ZygoteAnswer:
        """Send one command and return the answer. A dead zygote is replaced, and `ZygoteLost` raised.

        So it is if the command is about a worker of an earlier zygote, given by its ``generation``.
        """
        with self._lock:
            if generation not in (None, self._replaced):
                raise ZygoteLost("the process that started this worker has died")
            try:
                socket.send_fds(self._control, [command.pack()], descriptors)
                answer = self._receive()
            except OSError:
                answer = b""
            if not answer:
                self._replace()
                raise ZygoteLost("the process that starts workers has died")
        return ZygoteAnswer.unpack(answer)

    def _receive(self) -> bytes:
        """Wait for the answer. At T1 a submission may stop the zygote by a signal, so tell it to continue."""
        limit = time.monotonic() + _ANSWER_TIMEOUT_S
        pid = self._process.pid if self._process is not None else self._forked
        while not select.select([self._control], [], [], 0.5)[0]:
            if pid is not None and not self._namespaces:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT if time.monotonic() < limit else signal.SIGKILL)
        return self._control.recv(MAX_MESSAGE)

    def _replace(self) -> None:
        self._replaced += 1
        self._control.close()
        self._reap()
        self._control = self._spawn()

    def _reap(self) -> None:
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2.0)
        if self._forked is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._forked, 0)
            self._forked = None

    def fork(self, descriptors: tuple[int, int, int]) -> "ForkedHandle":
        """Fork a worker with these ends of the job, result and output pipes. Raises `OSError`."""
        number = next(self._numbers)
        generation = self._replaced
        answer = self.ask(ZygoteCommand(ZygoteOperation.FORK, number), descriptors, generation)
        if answer.error:
            raise OSError(answer.error)
        return ForkedHandle(self, number, generation)

    def pid(self) -> int:
        """The zygote's process id."""
        return self.ask(ZygoteCommand(ZygoteOperation.PID)).pid

    def close(self) -> None:
        """End the zygote."""
        self._control.close()
        self._reap()


class ForkedHandle:
    """The `WorkerHandle` of a worker that a zygote forked."""

    def __init__(self, link: ZygoteLink, number: int, generation: int):
        self._link = link
        self._number = number
        self._generation = generation

    def dump(self) -> None:
        """Have the worker write the stacks of its threads."""
        with contextlib.suppress(ZygoteLost):
            self._ask(ZygoteCommand(ZygoteOperation.DUMP, self._number))

    def end(self, grace: float) -> int | None:
        """Kill the worker and what it left, as `WorkerHandle.end` says. Raises `ZygoteLost`."""
        return self._ask(ZygoteCommand(ZygoteOperation.END, self._number, grace)).status

    def _ask(self, command: ZygoteCommand) -> ZygoteAnswer:
        return self._link.ask(command, generation=self._generation)
