"""A minimal process with torch warmed and nothing secret in memory; it forks the workers.

It obeys the judge over one socket, reaps its workers, and ends with the judge.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from typing import Any

from quizapp.judge.sandbox.namespaces import PidNamespaces, enter
from quizapp.judge.sandbox.process_cleanup import kill_tree, reap_orphans
from quizapp.judge.sandbox.seccomp import STACK_SIGNAL
from quizapp.judge.sandbox.syscalls import adopt_orphans, hide_memory
from quizapp.judge.worker import call_guard
from quizapp.judge.worker.main import host_pid, work
from quizapp.judge.worker.preload import preload, warm


class Zygote:
    """Serves one judge; with ``namespaces`` every worker gets a pid namespace of its own."""

    def __init__(self, control: socket.socket, *, namespaces: bool):
        self._control = control
        self._maker = PidNamespaces() if namespaces else None
        self._workers: dict[int, int] = {}
        # Killed but not gone yet: freeing gigabytes takes the kernel a second, which no verdict waits for.
        self._dying: set[int] = set()

    def serve(self) -> None:
        """Answer the judge until it closes the socket, then kill the workers."""
        while True:
            self._control.settimeout(0.05 if self._dying else None)
            try:
                body, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 3)
            except TimeoutError:
                self._bury()
                continue
            except OSError:
                break
            if not body:
                break
            answer = self._obey(json.loads(body), descriptors)
            try:
                self._control.send(json.dumps(answer).encode())
            except OSError:
                break
        for number in list(self._workers):
            self._end(number, 0.0)

    def _obey(self, message: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        match message["op"]:
            case "fork":
                return self._try_fork(message["id"], descriptors)
            case "dump":
                self._dump(message["id"])
            case "end":
                return {"code": self._end(message["id"], message["grace"])}
            case "who":
                return {"pid": host_pid()}
            case "preload":
                preload(name for name in message["names"] if not name.startswith("!"))
                for name in message["names"]:
                    if name.startswith("!"):
                        call_guard.targets(name[1:])
        return {}

    def _try_fork(self, number: int, descriptors: list[int]) -> dict[str, Any]:
        try:
            self._fork(number, descriptors)
        except OSError as error:  # no more processes, no more namespaces
            return {"error": error.strerror}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return {}

    def _fork(self, number: int, descriptors: list[int]) -> None:
        with self._maker.new() if self._maker else contextlib.nullcontext():
            pid = os.fork()
            if pid == 0:
                job, result, printed = descriptors
                work(job, result, printed, own_network=self._maker is not None)
        self._workers[number] = pid

    def _dump(self, number: int) -> None:
        with contextlib.suppress(KeyError, ProcessLookupError):
            # A stopped process must run again before it can say where it is.
            os.kill(self._workers[number], STACK_SIGNAL)
            os.kill(self._workers[number], signal.SIGCONT)

    def _end(self, number: int, grace: float) -> int | None:
        """Kill one worker and all that it left; its status as ``waitpid`` gives it, None if it was running.

        A worker that has closed its pipe gets ``grace`` seconds to leave by itself: its status tells why.
        """
        pid = self._workers.pop(number, None)
        if pid is None:
            return None
        if self._maker is None:
            kill_tree(pid)
        code = self._leave(pid, grace)
        if self._maker is None:
            reap_orphans({*self._workers.values(), *self._dying})
        return code

    def _leave(self, pid: int, grace: float) -> int | None:
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

    def _bury(self) -> None:
        """Reap those that have gone, and kill what they leave behind only now."""
        gone = {pid for pid in self._dying if os.waitpid(pid, os.WNOHANG)[0]}
        self._dying -= gone
        if gone and self._maker is None:
            reap_orphans({*self._workers.values(), *self._dying})


def run(control: socket.socket, *, namespaces: bool) -> None:
    """Be a zygote in this single-threaded process, until the judge goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if namespaces:
        enter()
        if os.fork():
            # The first process of the new pid namespace serves; this one stays outside of it.
            os._exit(0)
        os.setsid()
    else:
        adopt_orphans()
    hide_memory()
    preload(())
    Zygote(control, namespaces=namespaces).serve()


def main(descriptor: str, namespaces: str) -> int:
    """Start a zygote by itself: what the judge does when its first one has died."""
    warm()
    run(socket.socket(fileno=int(descriptor)), namespaces=namespaces == "1")
    return 0


def fork_zygote(*, namespaces: bool) -> tuple[socket.socket, int]:
    """Fork a zygote off this warmed process, which must have no thread and no secret yet."""
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
        os.waitpid(pid, 0)  # it made the namespaces and left
    return ours, pid
