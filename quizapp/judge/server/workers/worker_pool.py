"""Provides the judge's workers, either forked by a zygote or spawned ahead of time and used once."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from quizapp.judge.sandbox.launch import clean_environment, python_command
from quizapp.judge.sandbox.process_cleanup import kill_tree, reap_orphans
from quizapp.judge.sandbox.scratch import ScratchFolder, new_folder
from quizapp.judge.sandbox.seccomp import STACK_SIGNAL
from quizapp.judge.sandbox.syscalls import adopt_orphans
from quizapp.judge.server.workers.zygote import ZygoteCommand, ZygoteOperation
from quizapp.judge.server.workers.zygote_link import ZygoteLink, ZygoteLost
from quizapp.judge.worker.job import WorkerJob

_LOADING_TIMEOUT_S = 120.0


class WorkerHandle(Protocol):
    """How the judge controls a running worker."""

    def dump(self) -> None:
        """Have the worker write the stacks of its threads."""

    def end(self, grace: float) -> int | None:
        """Kill the worker and the processes that it left.

        Returns its wait status; None if it was still running after ``grace`` seconds.
        """


@dataclass(frozen=True)
class RunningWorker:
    """A worker that has its job. ``result`` and ``printed`` are the read ends of its pipes."""

    handle: WorkerHandle
    result: int
    printed: int
    rank: int
    scratch: ScratchFolder

    def abandon(self) -> None:
        """Kill the worker and close its pipes."""
        with contextlib.suppress(ZygoteLost):
            self.handle.end(0.0)
        for descriptor in (self.result, self.printed):
            os.close(descriptor)


class SpawnedHandle:
    """The `WorkerHandle` of a worker with an interpreter of its own."""

    def __init__(self, process: subprocess.Popen[bytes], kill_orphans: Callable[[], None]):
        self._process = process
        self._kill_orphans = kill_orphans

    def dump(self) -> None:
        """Have the worker write the stacks of its threads."""
        with contextlib.suppress(ProcessLookupError):
            # A stopped process must continue before it can write its stack.
            self._process.send_signal(STACK_SIGNAL)
            self._process.send_signal(signal.SIGCONT)

    def end(self, grace: float) -> int | None:
        """Kill the worker and the processes that it left, as `WorkerHandle.end` says."""
        kill_tree(self._process.pid)
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(grace)
            status = -code if code < 0 else code << 8
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._kill_orphans()
        return status


class PrewarmedWorker:
    """A spawned worker that loads torch and waits for its one job."""

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
        """Wait until it has loaded torch, which must not count as the submission's time."""
        select.select([self.result], [], [], _LOADING_TIMEOUT_S)

    def close(self) -> None:
        """End a worker that is no longer needed."""
        for descriptor in (self.job, self.result, self.printed):
            os.close(descriptor)
        self.process.kill()
        self.process.wait()


class WorkerPool:
    """Hands out workers.

    It forks, so create it while this process has a single thread and nothing secret in memory.
    """

    def __init__(self, tier: str):
        self._links: dict[bool, ZygoteLink] = {}  # by whether the workers get namespaces
        self._lock = threading.Lock()
        # Spawn from one permanent thread: the kernel kills a worker when the thread that spawned it ends.
        self._spawner = ThreadPoolExecutor(1, "worker-spawner")
        self._prewarmed: dict[str, list[Future[PrewarmedWorker]]] = {}
        self._spawned: list[PrewarmedWorker] = []
        self._preloaded: tuple[set[str], set[str]] = (set(), set())  # modules, forbidden names
        self._folder = new_folder()
        self.helpers: set[int] = set()
        """Ids of processes that the judge started itself, so that no cleanup takes them for orphans."""
        if tier != "T0":
            namespaces = tier == "T3"
            self._links[namespaces] = ZygoteLink(namespaces=namespaces, fork=True)

    def scratch(self) -> ScratchFolder:
        """A new scratch folder for one group of workers."""
        with self._lock:
            try:
                return ScratchFolder(Path(tempfile.mkdtemp(dir=self._folder)))
            except OSError:  # below T2 a submission may remove the folder or put something else there
                self._folder = new_folder()
                return ScratchFolder(Path(tempfile.mkdtemp(dir=self._folder)))

    def preload(self, tier: str, modules: Iterable[str], forbidden: Iterable[str] = ()) -> None:
        """Have the zygote of ``tier`` import modules that probes need, and resolve forbidden names.

        Doing this once, before the fork, saves the time in every worker.
        """
        wanted = ({*modules} - self._preloaded[0], {*forbidden} - self._preloaded[1])
        if any(wanted) and tier != "T0":
            names = [tuple(sorted(part)) for part in wanted]
            command = ZygoteCommand(ZygoteOperation.PRELOAD, modules=names[0], forbidden=names[1])
            with contextlib.suppress(ZygoteLost):
                self._link(tier).ask(command)
                self._preloaded = (self._preloaded[0] | wanted[0], self._preloaded[1] | wanted[1])

    def start(self, job: WorkerJob, scratch: ScratchFolder) -> RunningWorker:
        """Start a worker on ``job``. Raises `ZygoteLost` or `OSError`."""
        if job.tier == "T0" or job.device != "cpu":
            return self._use_prewarmed(job, scratch)
        for attempt in (1, 2):
            try:
                return self._fork(job, scratch)
            except ZygoteLost:
                self._preloaded = (set(), set())
                if attempt == 2:
                    raise
        raise AssertionError

    def _link(self, tier: str) -> ZygoteLink:
        with self._lock:
            namespaces = tier == "T3"
            if namespaces not in self._links:
                self._links[namespaces] = ZygoteLink(namespaces=namespaces, fork=False)
            return self._links[namespaces]

    def _fork(self, job: WorkerJob, scratch: ScratchFolder) -> RunningWorker:
        link = self._link(job.tier)
        pipes = [os.pipe() for _ in range(3)]
        (job_read, job_write), (result_read, result_write), (printed_read, printed_write) = pipes
        try:
            handle = link.fork((job_read, result_write, printed_write))
        except OSError:
            for descriptor in (job_write, result_read, printed_read):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (job_read, result_write, printed_write):
                os.close(descriptor)
        _send_job(job_write, job)
        return RunningWorker(handle, result_read, printed_read, job.rank, scratch)

    def _use_prewarmed(self, job: WorkerJob, scratch: ScratchFolder) -> RunningWorker:
        with self._lock:
            waiting = self._prewarmed.setdefault(job.device, [])
            chosen = waiting.pop(0) if waiting else self._spawner.submit(self._spawn, job.device)
            waiting.append(self._spawner.submit(self._spawn, job.device))
        worker = chosen.result()
        worker.wait()
        _send_job(worker.job, job)
        handle = SpawnedHandle(worker.process, self._kill_orphans)
        return RunningWorker(handle, worker.result, worker.printed, job.rank, scratch)

    def _spawn(self, device: str) -> PrewarmedWorker:
        if sys.platform == "linux":
            adopt_orphans()
        worker = PrewarmedWorker(device)
        self._spawned.append(worker)
        return worker

    def _kill_orphans(self) -> None:
        """Kill what spawned workers left behind.

        This runs in the thread that spawns them. Otherwise a new worker could be taken for an orphan before
        it is in the list.
        """
        if sys.platform != "linux":
            return

        def reap() -> None:
            with contextlib.suppress(ZygoteLost):
                zygotes = {link.pid() for link in self._links.values()}
                workers = {w.process.pid for w in self._spawned if w.process.poll() is None}
                reap_orphans(zygotes | workers | self.helpers)
                self._spawned = [w for w in self._spawned if w.process.returncode is None]

        self._spawner.submit(reap).result()

    def start_helper(self, start: Callable[[], int]) -> int:
        """Start a process of the judge's own and add it to ``helpers``. ``start`` returns its id.

        This runs in the same thread as the cleanup of orphans, which could otherwise come in between.
        """

        def run() -> int:
            pid = start()
            self.helpers.add(pid)
            return pid

        return self._spawner.submit(run).result()

    def close(self) -> None:
        """End zygotes and waiting workers and remove the scratch folders."""
        for link in self._links.values():
            link.close()
        for waiting in self._prewarmed.values():
            for worker in waiting:
                worker.result().close()
        self._spawner.shutdown()
        ScratchFolder(self._folder).remove()


def _send_job(descriptor: int, job: WorkerJob) -> None:
    # A worker that has already gone is noticed at its result pipe.
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
        pipe.write(job.pack())
