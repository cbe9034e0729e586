"""Sentences for a run that gave no evidence: what happened, to which rank, at which line."""

from collections.abc import Callable, Sequence
from signal import Signals

from quizapp.judge.sandbox import limits
from quizapp.judge.sandbox.scratch import MAX_BYTES
from quizapp.judge.server.collector import (
    COMPLETE,
    CROWDED,
    ENDED,
    FLOODED,
    HUNGRY,
    LATE,
    MAX_THREADS,
    OVERFULL,
    STOPPED,
    WorkerReport,
)
from quizapp.judge.server.stack_dump import place
from quizapp.judge.verdict import ERROR, MEMORY, TIMEOUT

MEMORY_TEXT = f"the {limits.MEMORY >> 30} GiB it may have"
_CRASHES: dict[int, str] = {
    Signals.SIGSEGV: "a segmentation fault",
    Signals.SIGBUS: "a bus error",
    Signals.SIGABRT: "an abort",
    Signals.SIGFPE: "an arithmetic fault",
    Signals.SIGILL: "an illegal instruction",
}


def explain(reports: Sequence[WorkerReport], module: str, source: str, seconds: float) -> tuple[str, str]:
    """Status and sentence for workers that did not all send a transcript; empty if they did."""
    for state, tell in _TELL.items():
        for report in reports:
            if report.state == state:
                status, sentence = tell(report, place(report.stack, module, source), seconds)
                if len(reports) > 1:
                    sentence = _ranks(reports, module, source) if state == LATE else sentence
                    sentence = f"Rank {report.worker.rank} of {len(reports)}: {sentence}"
                return status, sentence
    return "", ""


def _ranks(reports: Sequence[WorkerReport], module: str, source: str) -> str:
    waiting, done = [], []
    for report in reports:
        if report.state == COMPLETE:
            done.append(str(report.worker.rank))
            continue
        where = place(report.stack, module, source) or " outside your module"
        waiting.append(f"rank {report.worker.rank} waits{where}")
    tail = f"; rank {' and '.join(done)} had finished" if done else ""
    return (
        f"the group did not finish in time: {'; '.join(waiting)}{tail}. Does every rank make the same calls?"
    )


def _late(_: WorkerReport, where: str, seconds: float) -> tuple[str, str]:
    return TIMEOUT, f"Your code did not finish within {seconds:g} s" + (f"; it was{where}." if where else ".")


def _hungry(_: WorkerReport, where: str, __: float) -> tuple[str, str]:
    return MEMORY, f"Your code took more memory than {MEMORY_TEXT}" + (f"; it was{where}." if where else ".")


def _overfull(_: WorkerReport, where: str, __: float) -> tuple[str, str]:
    limit = f"{MAX_BYTES >> 20} MiB"
    text = f"Your code wrote more files than the {limit} it may, or folders too deep or locked to look into"
    return ERROR, text + (f"; it was{where}." if where else ".")


def _crowded(_: WorkerReport, where: str, __: float) -> tuple[str, str]:
    text = f"Your code started more than the {MAX_THREADS} threads it may have"
    return ERROR, text + (f"; it was{where}." if where else ".")


def _flooded(_: WorkerReport, __: str, ___: float) -> tuple[str, str]:
    return ERROR, "Your code wrote into the judge's own pipe; leave descriptors alone that it did not open."


def _stopped(_: WorkerReport, __: str, ___: float) -> tuple[str, str]:
    return ERROR, "This grade was called off for a newer one."


def _ended(report: WorkerReport, where: str, _: float) -> tuple[str, str]:
    number = report.signal
    if number in _CRASHES:
        return ERROR, f"Your code crashed Python with {_CRASHES[number]}{where}."
    if number == Signals.SIGXCPU:
        return TIMEOUT, f"Your code used up the processor time that it may take{where}."
    if number == Signals.SIGKILL:
        return MEMORY, f"The system killed your code{where}, most likely for lack of memory."
    if number is not None:
        return ERROR, f"Your code ended its process by {_name(number)}{where} before the tests were done."
    return ERROR, "Your code ended its process before the tests were done; let its functions return instead."


def _name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:  # most of the real-time signals have none
        return f"signal {number}"


_TELL: dict[str, Callable[[WorkerReport, str, float], tuple[str, str]]] = {
    HUNGRY: _hungry,
    OVERFULL: _overfull,
    CROWDED: _crowded,
    FLOODED: _flooded,
    ENDED: _ended,
    LATE: _late,
    STOPPED: _stopped,
}
