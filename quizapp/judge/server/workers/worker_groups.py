"""Runs jobs in groups of workers, from their start until nothing is left of them."""

import marshal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from quizapp.judge.sandbox.scratch import ScratchFolder
from quizapp.judge.server.workers.collector import OutputSink, WorkerReport, collect_reports
from quizapp.judge.server.workers.worker_pool import RunningWorker, WorkerPool
from quizapp.judge.worker.job import WorkerJob


def marshal_probes(module: ModuleType) -> bytes:
    """The code of one of the judge's own probe modules, as a job carries it."""
    path = Path(str(module.__file__))
    return marshal.dumps(compile(path.read_text(encoding="utf-8"), path.name, "exec", dont_inherit=True))


def run_worker_groups(
    pool: WorkerPool,
    groups: Sequence[Sequence[WorkerJob]],
    seconds: float,
    canceled: threading.Event,
    log: OutputSink | None = None,
) -> list[list[WorkerReport]]:
    """Run every job in a worker of its own, all at the same time, and return their reports group by group.

    A group holds the jobs of the ranks of one run, in order. It gets a scratch folder of its own, which
    replaces the ``base`` of its jobs. The jobs of all groups have the same module.

    The workers have ``seconds`` together, which begin once all of them are started. They are stopped early
    when ``canceled`` is set or one of them fails; their reports say which. ``log`` gets what the first
    worker of the first group prints, while it runs.

    However this ends, every worker is killed by then, its pipes are closed, and the scratch folders are
    removed. Raises `ZygoteLost` if the zygote died meanwhile, and `OSError` if a worker cannot be started.
    """
    workers: list[RunningWorker] = []
    scratches: list[ScratchFolder] = []
    try:
        for group in groups:
            scratch = pool.scratch()
            scratches.append(scratch)
            scratch.prepare()
            for job in group:
                worker = pool.start(replace(job, base=str(scratch.base)), scratch)
                workers.append(worker)
        # Starting a worker that has to load torch first takes seconds, which are not the submission's.
        deadline = time.monotonic() + seconds
        reports = collect_reports(workers, groups[0][0].module, deadline, canceled, log)
    finally:
        for worker in workers:
            worker.abandon()
        for scratch in scratches:
            scratch.remove()
    remaining = iter(reports)
    return [[next(remaining) for _ in group] for group in groups]
