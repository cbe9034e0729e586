"""Where the judge gets its workers from: forked by a zygote, or spawned warm and used once."""

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from quizapp.judge.sandbox.process_cleanup import reap_orphans
from quizapp.judge.sandbox.scratch import ScratchFolder, new_folder
from quizapp.judge.sandbox.syscalls import adopt_orphans
from quizapp.judge.server.spawned_worker import PrewarmedWorker, SpawnedHandle
from quizapp.judge.server.zygote_link import ZygoteLink, ZygoteLost
from quizapp.judge.worker.job import WorkerJob


class WorkerHandle(Protocol):
    """The judge's grip on a running worker."""

    def dump(self) -> None:
        """Have the worker write where it is."""

    def end(self, grace: float) -> int | None:
        """Kill the worker and what it left; its wait status, None if it was still running after ``grace``."""


class RunningWorker:
    """A worker that has its job: its grip, the read ends of its pipes, its scratch folder."""

    def __init__(self, handle: WorkerHandle, result: int, printed: int, rank: int, scratch: ScratchFolder):
        self.handle = handle
        self.result = result
        self.printed = printed
        self.rank = rank
        self.scratch = scratch

    def abandon(self) -> None:
        """Kill the worker and close its pipes."""
        with contextlib.suppress(ZygoteLost):
            self.handle.end(0.0)
        for descriptor in (self.result, self.printed):
            os.close(descriptor)


class WorkerPool:
    """Hands out workers. Make it before anything secret is loaded and while one thread runs: it forks."""

    def __init__(self, tier: str):
        self._links: dict[bool, ZygoteLink] = {}
        self._lock = threading.Lock()
        # One lasting thread starts the spares: the kernel kills them when the thread that started them ends.
        self._starter = ThreadPoolExecutor(1, "spares")
        self._spares: dict[str, list[Future[PrewarmedWorker]]] = {}
        self._used: list[PrewarmedWorker] = []
        self._preloaded: set[str] = set()
        self._folder = new_folder()
        if tier != "T0":
            namespaces = tier == "T3"
            self._links[namespaces] = ZygoteLink(namespaces=namespaces, fork=True)

    def scratch(self) -> ScratchFolder:
        """A new scratch folder for one group of workers."""
        return ScratchFolder(Path(tempfile.mkdtemp(dir=self._folder)))

    def preload(self, tier: str, modules: Iterable[str], forbidden: Iterable[str] = ()) -> None:
        """Have the zygote of ``tier`` import modules that coming probes need, and look up forbidden names."""
        new = {*modules, *(f"!{name}" for name in forbidden)} - self._preloaded
        if new and tier != "T0":
            with contextlib.suppress(ZygoteLost):
                self._link(tier).ask({"op": "preload", "names": sorted(new)})
                self._preloaded |= new

    def start(self, job: WorkerJob, scratch: ScratchFolder) -> RunningWorker:
        """Start a worker on ``job``. Raises `ZygoteLost` or `OSError`."""
        if job.tier == "T0" or job.device != "cpu":
            return self._spawned(job, scratch)
        for attempt in (1, 2):
            try:
                return self._forked(job, scratch)
            except ZygoteLost:
                self._preloaded.clear()
                if attempt == 2:
                    raise
        raise AssertionError

    def _link(self, tier: str) -> ZygoteLink:
        with self._lock:
            namespaces = tier == "T3"
            if namespaces not in self._links:
                self._links[namespaces] = ZygoteLink(namespaces=namespaces, fork=False)
            return self._links[namespaces]

    def _forked(self, job: WorkerJob, scratch: ScratchFolder) -> RunningWorker:
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
        _hand_over(job_write, job)
        return RunningWorker(handle, result_read, printed_read, job.rank, scratch)

    def _spawned(self, job: WorkerJob, scratch: ScratchFolder) -> RunningWorker:
        with self._lock:
            spares = self._spares.setdefault(job.device, [])
            spare = spares.pop(0) if spares else self._starter.submit(self._spare, job.device)
            spares.append(self._starter.submit(self._spare, job.device))
        ready = spare.result()
        ready.wait()
        _hand_over(ready.job, job)
        return RunningWorker(
            SpawnedHandle(ready.process, self._sweep), ready.result, ready.printed, job.rank, scratch
        )

    def _sweep(self) -> None:
        """Kill orphans of spawned workers; in the thread that starts them, so that none is half known."""
        if sys.platform != "linux":
            return

        def sweep() -> None:
            with contextlib.suppress(ZygoteLost):
                known = {link.pid() for link in self._links.values()}
                reap_orphans(
                    known | {spare.process.pid for spare in self._used if spare.process.poll() is None}
                )
                self._used = [spare for spare in self._used if spare.process.returncode is None]

        self._starter.submit(sweep).result()

    def _spare(self, device: str) -> PrewarmedWorker:
        if sys.platform == "linux":
            adopt_orphans()
        spare = PrewarmedWorker(device)
        self._used.append(spare)
        return spare

    def close(self) -> None:
        """End zygotes and spares and remove the scratch folders."""
        for link in self._links.values():
            link.close()
        for spares in self._spares.values():
            for spare in spares:
                spare.result().close()
        self._starter.shutdown()
        ScratchFolder(self._folder).remove()


def _hand_over(descriptor: int, job: WorkerJob) -> None:
    # A worker that is gone already shows on its result pipe.
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
        pipe.write(job.pack())
