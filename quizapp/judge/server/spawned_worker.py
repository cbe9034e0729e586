"""Workers with an interpreter of their own: started ahead, used once."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable

from quizapp.judge.sandbox.launch import clean_environment, python_command
from quizapp.judge.sandbox.process_cleanup import kill_tree

_LOADING = 120.0


class SpawnedHandle:
    """A worker with an interpreter of its own."""

    def __init__(self, process: subprocess.Popen[bytes], sweep: Callable[[], None]):
        self._process = process
        self._sweep = sweep

    def dump(self) -> None:
        """Have the worker write where it is."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)
            self._process.send_signal(signal.SIGCONT)

    def end(self, grace: float) -> int | None:
        """Kill the worker and what it left; its wait status, None if it was still running after ``grace``."""
        kill_tree(self._process.pid)
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(grace)
            status = -code if code < 0 else code << 8
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._sweep()
        return status


class PrewarmedWorker:
    """A spawned worker that has torch loaded and waits for its one job."""

    def __init__(self, device: str):
        pipes = [os.pipe() for _ in range(3)]
        (job_read, self.job), (self.result, result_write), (self.printed, printed_write) = pipes
        theirs = (job_read, result_write, printed_write)
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            python_command("quizapp.judge.worker.main", device, *map(str, theirs)),
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            env=clean_environment(accelerator=device != "cpu"),
            start_new_session=True,
        )
        for descriptor in theirs:
            os.close(descriptor)

    def wait(self) -> None:
        """Wait until it has loaded: the submission's time begins after that."""
        select.select([self.result], [], [], _LOADING)

    def close(self) -> None:
        """Give the spare up: it ends when its job pipe closes."""
        for descriptor in (self.job, self.result, self.printed):
            os.close(descriptor)
        self.process.kill()
        self.process.wait()
