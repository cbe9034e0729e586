"""Reads what workers send, under caps and a deadline, and ends them whatever happens."""

import contextlib
import os
import selectors
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from quizapp.judge.sandbox import limits
from quizapp.judge.server.printed_output import PrintedOutput
from quizapp.judge.server.stack_dump import read_stack
from quizapp.judge.server.worker_pool import RunningWorker
from quizapp.judge.server.zygote_link import ZygoteLost
from quizapp.judge.worker.job import HELLO, HELLO_MAGIC
from quizapp.judge.worker.transcript import HEADER, MAX_BYTES, MAX_HEADER, message_size

RUNNING, COMPLETE, ENDED, FLOODED = "running", "complete", "ended", "flooded"
HUNGRY, OVERFULL, CROWDED = "hungry", "overfull", "crowded"
LATE, STOPPED = "late", "stopped"
MAX_THREADS = 1000
_TICK = 0.02
_DUMP_WAIT = 0.1
# Shared library pages count as resident too.
_RESIDENT = limits.MEMORY + (768 << 20)
_CAP = MAX_BYTES + MAX_HEADER + 1024


@dataclass
class WorkerReport:
    """What came from one worker. ``code`` is its wait status, None if it had to be killed."""

    worker: RunningWorker
    state: str = RUNNING
    message: bytearray = field(default_factory=bytearray)
    printed: PrintedOutput = field(default_factory=PrintedOutput)
    pid: int = 0
    code: int | None = None
    stack: str = ""

    @property
    def signal(self) -> int | None:
        """The number of the signal that ended the worker, if one did."""
        if self.code is None or not os.WIFSIGNALED(self.code):
            return None
        return os.WTERMSIG(self.code)


def collect_reports(
    workers: list[RunningWorker], module: str, deadline: float, cancelled: threading.Event
) -> list[WorkerReport]:
    """Wait until every worker has sent its transcript, one has failed, or the deadline has passed.

    ``module`` is the user's file, whose line is looked for where a worker has to be stopped;
    ``deadline`` is on the monotonic clock. All workers are ended before this returns.
    """
    reports = [WorkerReport(worker) for worker in workers]
    try:
        with selectors.DefaultSelector() as selector:
            for report in reports:
                for descriptor in (report.worker.result, report.worker.printed):
                    os.set_blocking(descriptor, False)
                    selector.register(descriptor, selectors.EVENT_READ, report)
            _pump(selector, reports, deadline, cancelled)
        if not all(report.state == COMPLETE for report in reports):
            _locate(reports, module)
    finally:
        lost = [report for report in reports if not _finish(report, module)]
    if lost:
        raise ZygoteLost("the zygote died under its workers")
    return reports


def _pump(
    selector: selectors.BaseSelector, reports: list[WorkerReport], deadline: float, cancelled: threading.Event
) -> None:
    ticks = 0
    next_tick = time.monotonic() + _TICK
    while any(report.state == RUNNING for report in reports):
        now = time.monotonic()
        if now >= deadline or cancelled.is_set():
            for report in reports:
                if report.state == RUNNING:
                    report.state = STOPPED if cancelled.is_set() else LATE
            return
        for key, _ in selector.select(max(0.0, min(deadline, next_tick) - now)):
            if not _read(key.data, key.fd):
                selector.unregister(key.fd)
        if time.monotonic() >= next_tick:
            ticks += 1
            next_tick = time.monotonic() + _TICK
            _watch(reports, folders=ticks % 10 == 0)
        if any(report.state in (ENDED, FLOODED, HUNGRY, OVERFULL, CROWDED) for report in reports):
            _stop_others(reports)
            return


def _stop_others(reports: list[WorkerReport]) -> None:
    """One failure decides the grade, so the rest need not go on."""
    for report in reports:
        if report.state == RUNNING:
            report.state = STOPPED


def _read(report: WorkerReport, descriptor: int) -> bool:
    """Take what a pipe holds; False once nothing more is wanted from it."""
    try:
        part = os.read(descriptor, 1 << 18)
    except BlockingIOError:
        return True
    except OSError:
        part = b""
    if descriptor == report.worker.printed:
        report.printed.add(part)
        return bool(part)
    report.message += part
    if not report.pid and len(report.message) >= HELLO.size:
        magic, pid = HELLO.unpack_from(report.message)
        report.pid = pid if magic == HELLO_MAGIC else -1
    size = message_size(bytes(report.message[HELLO.size : HELLO.size + HEADER.size]))
    if report.pid < 0 or size < 0 or len(report.message) > _CAP:
        report.state = FLOODED
    elif size and len(report.message) >= HELLO.size + size:
        report.state = COMPLETE
    elif not part:
        report.state = ENDED
    return report.state == RUNNING


def _watch(reports: list[WorkerReport], *, folders: bool) -> None:
    """What no limit of the kernel covers: shared memory, threads with small stacks, the sum of all files."""
    for report in reports:
        if report.state == RUNNING and report.pid > 0:
            threads, resident = _usage(report.pid)
            if resident > _RESIDENT:
                report.state = HUNGRY
            elif threads > MAX_THREADS:
                report.state = CROWDED
        if report.state == RUNNING and folders and report.worker.scratch.overfull():
            report.state = OVERFULL


def _usage(pid: int) -> tuple[int, int]:
    """The process's threads and resident bytes; zeros where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # The name in parentheses may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[17]), int(fields[21]) * limits.PAGE
    return 0, 0


def _locate(reports: list[WorkerReport], module: str) -> None:
    """Ask the workers that still run where they are, before they are killed."""
    asked = [report for report in reports if report.state in (LATE, HUNGRY, OVERFULL, CROWDED)]
    for report in asked:
        report.worker.handle.dump()
    limit = time.monotonic() + _DUMP_WAIT
    for report in asked:
        path = report.worker.scratch.stack(report.worker.rank)
        report.stack = read_stack(path, module, limit - time.monotonic())


def _finish(report: WorkerReport, module: str) -> bool:
    """End the worker and take what is left in its pipes; False if the zygote has died."""
    worker = report.worker
    alive = True
    try:
        report.code = worker.handle.end(0.05 if report.state == ENDED else 0.0)
    except ZygoteLost:
        alive = False
    if report.state == ENDED:
        report.stack = read_stack(worker.scratch.stack(worker.rank), module, 0.0)
    with contextlib.suppress(OSError):
        while part := os.read(worker.printed, 1 << 18):
            report.printed.add(part)
    os.close(worker.result)
    os.close(worker.printed)
    return alive
