"""Reads what workers send, within limits and a deadline, and always ends them."""

import contextlib
import os
import re
import selectors
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from quizapp.judge.sandbox import limits
from quizapp.judge.server.workers.worker_pool import RunningWorker
from quizapp.judge.server.workers.zygote_link import ZygoteLost
from quizapp.judge.worker.job import HELLO, HELLO_MAGIC
from quizapp.judge.worker.transcript import HEADER, MAX_BYTES, MAX_HEADER, message_size
from quizapp.util.sanitize import escape_unprintable

MAX_THREADS = 1000
PRINTED_HEAD = PRINTED_TAIL = 4000  # bytes
_TICK = 0.02
# How long a worker gets to write its stack, in seconds: on a busy machine it waits for its turn. One that has
# exceeded a limit may go on taking memory meanwhile, so it gets less.
_DUMP_WAIT = 1.0
_DUMP_WAIT_OVER_A_LIMIT = 0.3
# Resident memory includes the pages of shared libraries, so allow more than the limit on private memory.
_MAX_RESIDENT = limits.MEMORY + (768 << 20)
_MAX_RESULT = MAX_BYTES + MAX_HEADER + 1024
_FRAME = re.compile(r'^  File "(?P<file>[^"\n]*)", line (?P<line>[0-9]{1,7}) in ', re.MULTILINE)


class WorkerState(StrEnum):
    """The progress of a worker, or what ended it."""

    RUNNING = "running"
    COMPLETE = "complete"  # it sent a whole transcript
    ENDED = "ended"  # it closed its pipe before that
    TIMED_OUT = "timed out"
    STOPPED = "stopped"  # canceled, or another worker of the same grade failed
    MEMORY_LIMIT = "memory limit"
    DISK_LIMIT = "disk limit"
    THREAD_LIMIT = "thread limit"
    PROTOCOL_VIOLATION = "protocol violation"  # the result pipe holds too much or no transcript


_OVER_A_LIMIT = (WorkerState.MEMORY_LIMIT, WorkerState.DISK_LIMIT, WorkerState.THREAD_LIMIT)
_FAILED = (*_OVER_A_LIMIT, WorkerState.ENDED, WorkerState.PROTOCOL_VIOLATION)


class OutputSink(Protocol):
    """Collects what a worker prints."""

    def add(self, part: bytes) -> None:
        """Add the next bytes."""

    def text(self) -> str:
        """What was collected, as text that is safe to print."""


class PrintedOutput:
    """The head and tail of what a submission printed, collected in bounded memory."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, part: bytes) -> None:
        """Add the next bytes."""
        self._total += len(part)
        room = PRINTED_HEAD - len(self._head)
        self._head += part[:room]
        self._tail += part[max(room, 0) :][-PRINTED_TAIL:]
        if len(self._tail) > 4 * PRINTED_TAIL:
            del self._tail[:-PRINTED_TAIL]

    def text(self) -> str:
        """Head and tail as text that is safe to print, with a note of how many bytes are left out."""
        tail = bytes(self._tail[-PRINTED_TAIL:])
        missing = self._total - len(self._head) - len(tail)
        gap = f"\n... {missing} more bytes ...\n".encode() if missing else b""
        return escape_unprintable((bytes(self._head) + gap + tail).decode(errors="replace"))


@dataclass
class WorkerReport:
    """What one worker sent. ``code`` is its wait status; None if it had to be killed."""

    worker: RunningWorker
    state: WorkerState = WorkerState.RUNNING
    message: bytearray = field(default_factory=bytearray)
    printed: OutputSink = field(default_factory=PrintedOutput)
    pid: int = 0
    code: int | None = None
    stack: str = ""

    @property
    def signal(self) -> int | None:
        """The number of the signal that ended the worker, if one did."""
        if self.code is None or not os.WIFSIGNALED(self.code):
            return None
        return os.WTERMSIG(self.code)

    @property
    def transcript(self) -> bytes:
        """The worker's transcript, which is whole if the state is COMPLETE."""
        return bytes(self.message[HELLO.size :])

    def printed_text(self, world: int) -> str:
        """What the submission printed, in a group of ``world`` ranks, without the scratch folder's name."""
        rank = self.worker.rank
        text = self.printed.text().replace(f"{self.worker.scratch.work}/rank{rank}/", "")
        return f"[rank {rank} of {world}]\n{text}" if text and world > 1 else text

    def read(self, descriptor: int) -> bool:
        """Read what one of the worker's pipes holds. Returns False once the pipe is no longer needed."""
        try:
            part = os.read(descriptor, 1 << 18)
        except BlockingIOError:
            return True
        except OSError:
            part = b""
        if descriptor == self.worker.printed:
            self.printed.add(part)
            return bool(part)
        self._add_result(part)
        return self.state == WorkerState.RUNNING

    def _add_result(self, part: bytes) -> None:
        self.message += part
        if not self.pid and len(self.message) >= HELLO.size:
            magic, pid = HELLO.unpack_from(self.message)
            self.pid = pid if magic == HELLO_MAGIC else -1
        size = message_size(bytes(self.message[HELLO.size : HELLO.size + HEADER.size]))
        if self.pid < 0 or size < 0 or len(self.message) > _MAX_RESULT:
            self.state = WorkerState.PROTOCOL_VIOLATION
        elif size and len(self.message) >= HELLO.size + size:
            self.state = WorkerState.COMPLETE
        elif not part:
            self.state = WorkerState.ENDED


def collect_reports(
    workers: list[RunningWorker],
    module: str,
    deadline: float,
    canceled: threading.Event,
    log: OutputSink | None = None,
) -> list[WorkerReport]:
    """Wait until every worker has sent its transcript, one has failed, or the deadline has passed.

    ``module`` is the name of the user's file, which is looked for in the stack of a worker that has to be
    killed. ``deadline`` is a time of the monotonic clock. ``log`` gets what the first worker prints, as soon
    as it arrives. This takes the workers over: the list is empty
    afterwards, all of them are killed and their pipes closed, once, since another grade may get the same
    descriptors right away. Raises `ZygoteLost` if the zygote died meanwhile.
    """
    reports = [WorkerReport(worker) for worker in workers]
    if log is not None:
        reports[0].printed = log
    workers.clear()
    try:
        with selectors.DefaultSelector() as selector:
            for report in reports:
                for descriptor in (report.worker.result, report.worker.printed):
                    os.set_blocking(descriptor, False)
                    selector.register(descriptor, selectors.EVENT_READ, report)
            _read_until_decided(selector, reports, deadline, canceled)
        if not all(report.state == WorkerState.COMPLETE for report in reports):
            _collect_stacks(reports, module)
    finally:
        lost = [report for report in reports if not _kill(report, module)]
    if lost:
        raise ZygoteLost("the zygote died while its workers were running")
    return reports


def _read_until_decided(
    selector: selectors.BaseSelector, reports: list[WorkerReport], deadline: float, canceled: threading.Event
) -> None:
    ticks = 0
    next_tick = time.monotonic() + _TICK
    while any(report.state == WorkerState.RUNNING for report in reports):
        now = time.monotonic()
        if now >= deadline or canceled.is_set():
            _stop_running(reports, WorkerState.STOPPED if canceled.is_set() else WorkerState.TIMED_OUT)
            return
        for key, _ in selector.select(max(0.0, min(deadline, next_tick) - now)):
            if not key.data.read(key.fd):
                selector.unregister(key.fd)
        if time.monotonic() >= next_tick:
            ticks += 1
            next_tick = time.monotonic() + _TICK
            _check_limits(reports, folders=ticks % 10 == 0)
        if any(report.state in _FAILED for report in reports):
            # One failure decides the grade, so the other workers need not continue.
            _stop_running(reports, WorkerState.STOPPED)
            return


def _stop_running(reports: list[WorkerReport], state: WorkerState) -> None:
    for report in reports:
        if report.state == WorkerState.RUNNING:
            report.state = state


def _check_limits(reports: list[WorkerReport], *, folders: bool) -> None:
    """Check what no kernel limit covers: shared memory, threads with small stacks, the size of all files.

    ``folders`` turns the check of the files on, which costs more than the others.
    """
    for report in reports:
        if report.state == WorkerState.RUNNING and report.pid > 0:
            threads, resident = _usage(report.pid)
            if resident > _MAX_RESIDENT:
                report.state = WorkerState.MEMORY_LIMIT
            elif threads > MAX_THREADS:
                report.state = WorkerState.THREAD_LIMIT
        if report.state == WorkerState.RUNNING and folders and report.worker.scratch.is_over_limit():
            report.state = WorkerState.DISK_LIMIT


def _usage(pid: int) -> tuple[int, int]:
    """The process's threads and resident bytes; zeros if the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # The process name comes before this, in parentheses, and may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[17]), int(fields[21]) * limits.PAGE
    return 0, 0


def _collect_stacks(reports: list[WorkerReport], module: str) -> None:
    """Have the workers that are still running write their stacks before they are killed."""
    asked = [report for report in reports if report.state in (WorkerState.TIMED_OUT, *_OVER_A_LIMIT)]
    for report in asked:
        report.worker.handle.dump()
    begun = time.monotonic()
    for report in asked:
        limit = begun + (_DUMP_WAIT_OVER_A_LIMIT if report.state in _OVER_A_LIMIT else _DUMP_WAIT)
        path = report.worker.scratch.stack(report.worker.rank)
        report.stack = read_stack(path, module, limit - time.monotonic())


def _kill(report: WorkerReport, module: str) -> bool:
    """Kill the worker and read what is left in its pipes; False if the zygote has died."""
    worker = report.worker
    alive = True
    try:
        report.code = worker.handle.end(0.05 if report.state == WorkerState.ENDED else 0.0)
    except ZygoteLost:
        alive = False
    if report.state == WorkerState.ENDED:
        report.stack = read_stack(worker.scratch.stack(worker.rank), module, 0.0)
    with contextlib.suppress(OSError):
        while part := os.read(worker.printed, 1 << 18):
            report.printed.add(part)
    os.close(worker.result)
    os.close(worker.printed)
    return alive


def read_stack(path: Path, module: str, seconds: float) -> str:
    """Wait up to ``seconds`` for a worker to write its stacks to ``path``, and return what is there.

    A worker writes them piece by piece and may be interrupted in between. The wait therefore ends early only
    once the user's line in the main thread is there.
    """
    limit = time.monotonic() + seconds
    while True:
        text = _stack_text(path)
        if time.monotonic() >= limit or _main_thread_line(text, module):
            return text
        time.sleep(0.003)


def _stack_text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16).decode(errors="replace")
    except OSError:
        return ""


def _main_thread_line(stack: str, module: str) -> int:
    _, _, main = stack.partition("Current thread 0x")
    # The last line may not be complete yet.
    return line_in("Current thread 0x" + main[: main.rfind("\n") + 1], module) if main else 0


def line_in(stack: str, module: str) -> int:
    """The innermost line of the user's module in a stack dump; 0 if there is none.

    Searches the main thread, which received the signal, before the others.
    """
    threads = re.split(r"\n(?=(?:Current thread|Thread) 0x)", "\n" + stack)
    for thread in sorted(threads, key=lambda text: not text.lstrip("\n").startswith("Current")):
        for frame in _FRAME.finditer(thread):
            if frame["file"].endswith("/" + module):
                return int(frame["line"])
    return 0


def code_location(stack: str, module: str, source: str) -> str:
    """A phrase that says where the code was: the line's number and text; empty if unknown."""
    number = line_in(stack, module)
    lines = source.splitlines()
    if not number:
        return ""
    text = lines[number - 1].strip().replace("`", "'") if number <= len(lines) else ""
    shown = f": `{text if len(text) <= 90 else text[:87] + '...'}`" if text else ""
    return f" at line {number} of {module}{shown}"
