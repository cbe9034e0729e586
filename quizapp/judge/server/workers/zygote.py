"""The zygote: a minimal process that forks workers, with torch loaded and nothing secret in memory.

It takes commands from the judge over one socket, reaps its workers, and ends with the judge. `ZygoteLink` is
the judge's side of that socket.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from dataclasses import asdict, dataclass
from enum import StrEnum

from quizapp.judge.sandbox.namespaces import PidNamespaces, enter
from quizapp.judge.sandbox.process_cleanup import kill_tree, reap_orphans
from quizapp.judge.sandbox.seccomp import STACK_SIGNAL
from quizapp.judge.sandbox.syscalls import adopt_orphans, hide_memory
from quizapp.judge.worker import absence, call_guard
from quizapp.judge.worker.main import host_pid, work
from quizapp.judge.worker.preload import preload, warm

MAX_MESSAGE = 1 << 16


class ZygoteOperation(StrEnum):
    """What the judge asks of a zygote."""

    FORK = "fork"
    DUMP = "dump"
    END = "end"
    PID = "pid"
    PRELOAD = "preload"


@dataclass(frozen=True)
class ZygoteCommand:
    """One message to a zygote.

    FORK comes with three descriptors, for the job, result and output pipes. ``worker`` is the judge's number
    for a worker. END waits ``grace`` seconds for it. ``modules`` and ``forbidden`` are for PRELOAD.
    """

    operation: ZygoteOperation
    worker: int = 0
    grace: float = 0.0
    modules: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def pack(self) -> bytes:
        """Serialize the command."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, raw: bytes) -> "ZygoteCommand":
        """Restore a command from the output of `pack`."""
        fields = json.loads(raw)
        return cls(**fields | {"operation": ZygoteOperation(fields["operation"])})


@dataclass(frozen=True)
class ZygoteAnswer:
    """The answer to a command: the ``status`` of an ended worker, the zygote's ``pid``, or an ``error``."""

    error: str = ""
    status: int | None = None
    pid: int = 0

    def pack(self) -> bytes:
        """Serialize the answer."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, raw: bytes) -> "ZygoteAnswer":
        """Restore an answer from the output of `pack`."""
        return cls(**json.loads(raw))


class Zygote:
    """Serves one judge. With ``namespaces``, every worker gets its own pid namespace."""

    def __init__(self, control: socket.socket, *, namespaces: bool):
        self._control = control
        self._pid_namespaces = PidNamespaces() if namespaces else None
        self._workers: dict[int, int] = {}
        # Killed but not reaped: freeing gigabytes takes the kernel a second, and no verdict should wait.
        self._dying: set[int] = set()

    def serve(self) -> None:
        """Answer the judge until it closes the socket, then kill the workers."""
        while True:
            self._control.settimeout(0.05 if self._dying else None)
            try:
                body, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE, 3)
            except TimeoutError:
                self._reap_dying()
                continue
            except OSError:
                break
            if not body:
                break
            answer = self._obey(ZygoteCommand.unpack(body), descriptors)
            try:
                self._control.send(answer.pack())
            except OSError:
                break
        for number in list(self._workers):
            self._end(number, 0.0)

    def _obey(self, command: ZygoteCommand, descriptors: list[int]) -> ZygoteAnswer:
        match command.operation:
            case ZygoteOperation.FORK:
                return self._try_fork(command.worker, descriptors)
            case ZygoteOperation.DUMP:
                self._dump(command.worker)
            case ZygoteOperation.END:
                return ZygoteAnswer(status=self._end(command.worker, command.grace))
            case ZygoteOperation.PID:
                return ZygoteAnswer(pid=host_pid())
            case ZygoteOperation.PRELOAD:
                preload(command.modules)
                for name in command.forbidden:
                    call_guard.targets(name)
                    absence.operators(name)
        return ZygoteAnswer()

    def _try_fork(self, number: int, descriptors: list[int]) -> ZygoteAnswer:
        try:
            self._fork(number, descriptors)
        except OSError as error:  # the limit on processes or namespaces is reached
            return ZygoteAnswer(error=error.strerror or "the system refuses")
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return ZygoteAnswer()

    def _fork(self, number: int, descriptors: list[int]) -> None:
        with self._pid_namespaces.new() if self._pid_namespaces else contextlib.nullcontext():
            pid = os.fork()
            if pid == 0:
                job, result, printed = descriptors
                work(job, result, printed, own_network=self._pid_namespaces is not None)
        self._workers[number] = pid

    def _dump(self, number: int) -> None:
        with contextlib.suppress(KeyError, ProcessLookupError):
            # A stopped process must continue before it can write its stack.
            os.kill(self._workers[number], STACK_SIGNAL)
            os.kill(self._workers[number], signal.SIGCONT)

    def _end(self, number: int, grace: float) -> int | None:
        """Kill one worker and all that it left. Returns its wait status; None if it was still running.

        A worker that has closed its pipe gets ``grace`` seconds to end by itself: its status says why.
        """
        pid = self._workers.pop(number, None)
        if pid is None:
            return None
        if self._pid_namespaces is None:
            kill_tree(pid)
        status = self._wait_or_kill(pid, grace)
        if self._pid_namespaces is None:
            reap_orphans({*self._workers.values(), *self._dying})
        return status

    def _wait_or_kill(self, pid: int, grace: float) -> int | None:
        limit = time.monotonic() + grace
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status
            if time.monotonic() >= limit:
                break
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        self._dying.add(pid)
        return None

    def _reap_dying(self) -> None:
        """Reap killed workers that have ended, and kill the orphans that become visible only then."""
        gone = {pid for pid in self._dying if os.waitpid(pid, os.WNOHANG)[0]}
        self._dying -= gone
        if gone and self._pid_namespaces is None:
            reap_orphans({*self._workers.values(), *self._dying})


def run(control: socket.socket, *, namespaces: bool) -> None:
    """Run as a zygote in this single-threaded process until the judge ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if namespaces:
        enter()
        if os.fork():
            # The child is the first process of the new pid namespace and serves. This one stays outside it.
            os._exit(0)
        os.setsid()
    else:
        adopt_orphans()
    hide_memory()
    preload(())
    Zygote(control, namespaces=namespaces).serve()


def main(descriptor: str, namespaces: str) -> int:
    """Run a zygote in an interpreter of its own, which the judge starts when its first one has died."""
    warm()
    run(socket.socket(fileno=int(descriptor)), namespaces=namespaces == "1")
    return 0


def fork_zygote(*, namespaces: bool) -> tuple[socket.socket, int]:
    """Fork a zygote from this process, which must be warm, single-threaded and without secrets.

    Returns the judge's end of the socket and the process id of the direct child.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            control = 3
            if theirs.fileno() != control:
                os.dup2(theirs.fileno(), control)
            os.closerange(control + 1, 4096)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1):
                os.dup2(null, stream)
            os.close(null)
            run(socket.socket(fileno=control), namespaces=namespaces)
        finally:
            sys.stderr.flush()
            os._exit(0)
    theirs.close()
    if namespaces:
        os.waitpid(pid, 0)  # it entered the namespaces, forked the zygote and ended
    return ours, pid
