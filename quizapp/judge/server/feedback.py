"""Explains a run that gave no evidence in a sentence: what happened, in which rank, at which line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from quizapp.judge.sandbox import limits
from quizapp.judge.sandbox.scratch import MAX_BYTES
from quizapp.judge.server.workers.collector import MAX_THREADS, WorkerReport, WorkerState, code_location
from quizapp.judge.testing.checks import Raised
from quizapp.judge.testing.quoting import quoted
from quizapp.judge.verdict import VerdictStatus
from quizapp.judge.worker.job import WorkerProblem
from quizapp.judge.worker.transcript import MAX_BYTES as MAX_EVIDENCE
from quizapp.judge.worker.transcript import MAX_TENSOR, MAX_TENSORS, MAX_VALUES

_MEMORY = f"{limits.MEMORY >> 30} GiB"
_CRASHES: dict[int, str] = {
    Signals.SIGSEGV: "a segmentation fault",
    Signals.SIGBUS: "a bus error",
    Signals.SIGABRT: "an abort",
    Signals.SIGFPE: "an arithmetic error",
    Signals.SIGILL: "an illegal instruction",
}


@dataclass(frozen=True)
class RunFailure:
    """Why a run gave no evidence: the verdict's status and a sentence for the learner."""

    status: VerdictStatus
    text: str


def explain_failure(
    reports: Sequence[WorkerReport], module: str, source: str, seconds: float
) -> RunFailure | None:
    """Why the workers of one group did not all send a transcript; None if they did."""
    for state, explain in _EXPLANATIONS.items():
        for report in reports:
            if report.state == state:
                failure = explain(report, code_location(report.stack, module, source), seconds)
                if len(reports) == 1:
                    return failure
                text = failure.text
                if state == WorkerState.TIMED_OUT:
                    text = _waiting_ranks(reports, module, source)
                return RunFailure(failure.status, f"Rank {report.worker.rank} of {len(reports)}: {text}")
    return None


def problem_failure(problem: WorkerProblem, scratch: Path) -> RunFailure:
    """Explain what a worker reports instead of evidence. ``scratch`` is the folder of the run."""
    texts = {
        WorkerProblem.TOO_MUCH: f"Your code returned more than the judge accepts: {MAX_VALUES:,} values, "
        f"{MAX_TENSORS:,} tensors of {MAX_TENSOR >> 20} MiB each, {MAX_EVIDENCE >> 20} MiB in all.",
        WorkerProblem.NO_SCRATCH: f"The judge cannot write below {scratch.parent.parent}; free space there.",
        WorkerProblem.BROKEN: "Your code broke the process that records its run.",
    }
    return RunFailure(VerdictStatus.ERROR, texts[problem])


def import_failure(raised: Raised, module: str) -> RunFailure:
    """Explain the exception that importing a submission raised."""
    if raised.is_memory and not raised.line:
        text = "Python ran out of memory while reading your module: it is nested too deeply."
        return RunFailure(VerdictStatus.ERROR, text)
    if raised.is_memory:
        return memory_failure(raised, module)
    where = f" (line {raised.line})" if raised.line else ""
    message = f": {quoted(raised.message)}" if raised.message else ""
    tail = ": your module must not end the program." if raised.is_a("SystemExit") else ""
    return RunFailure(VerdictStatus.ERROR, f"{raised.types[0]} on import{message}{where}{tail}")


def memory_failure(raised: Raised, module: str) -> RunFailure:
    """Explain that an allocation failed."""
    where = f" at line {raised.line} of {module}" if raised.line else ""
    return RunFailure(
        VerdictStatus.MEMORY, f"Your code asked for more memory than the {_MEMORY} limit{where}."
    )


def _waiting_ranks(reports: Sequence[WorkerReport], module: str, source: str) -> str:
    waiting, done = [], []
    for report in reports:
        if report.state == WorkerState.COMPLETE:
            done.append(str(report.worker.rank))
            continue
        where = code_location(report.stack, module, source) or " outside your module"
        waiting.append(f"rank {report.worker.rank} waits{where}")
    tail = f"; rank {' and '.join(done)} had finished" if done else ""
    return (
        f"the group did not finish in time: {'; '.join(waiting)}{tail}. Does every rank make the same calls?"
    )


def _with_location(text: str, where: str) -> str:
    return f"{text}; it was{where}." if where else f"{text}."


def _timed_out(_: WorkerReport, where: str, seconds: float) -> RunFailure:
    text = f"Your code did not finish within {seconds:g} s"
    return RunFailure(VerdictStatus.TIMEOUT, _with_location(text, where))


def _memory_limit(_: WorkerReport, where: str, __: float) -> RunFailure:
    text = f"Your code used more memory than the {_MEMORY} limit"
    return RunFailure(VerdictStatus.MEMORY, _with_location(text, where))


def _disk_limit(_: WorkerReport, where: str, __: float) -> RunFailure:
    text = (
        f"Your code wrote more files than the {MAX_BYTES >> 20} MiB limit allows, "
        "or folders that are too deep or locked to look into"
    )
    return RunFailure(VerdictStatus.ERROR, _with_location(text, where))


def _thread_limit(_: WorkerReport, where: str, __: float) -> RunFailure:
    text = f"Your code started more than the {MAX_THREADS} threads that it may have"
    return RunFailure(VerdictStatus.ERROR, _with_location(text, where))


def _protocol_violation(_: WorkerReport, __: str, ___: float) -> RunFailure:
    text = "Your code wrote into the judge's own pipe; leave descriptors alone that it did not open."
    return RunFailure(VerdictStatus.ERROR, text)


def _stopped(_: WorkerReport, __: str, ___: float) -> RunFailure:
    return RunFailure(VerdictStatus.ERROR, "This grade was canceled for a newer one.")


def _ended(report: WorkerReport, where: str, _: float) -> RunFailure:
    number = report.signal
    if number in _CRASHES:
        return RunFailure(VerdictStatus.ERROR, f"Your code crashed Python with {_CRASHES[number]}{where}.")
    if number == Signals.SIGXCPU:
        return RunFailure(VerdictStatus.TIMEOUT, f"Your code reached its limit on processor time{where}.")
    if number == Signals.SIGKILL:
        text = f"The system killed your code{where}, most likely for lack of memory."
        return RunFailure(VerdictStatus.MEMORY, text)
    if number is not None:
        text = f"Your code ended its process by {_signal_name(number)}{where} before the tests were done."
        return RunFailure(VerdictStatus.ERROR, text)
    text = "Your code ended its process before the tests were done; let its functions return instead."
    return RunFailure(VerdictStatus.ERROR, text)


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return f"signal {number}"


# In order of precedence: if workers ended in several of these states, the first one explains the grade.
_EXPLANATIONS: dict[WorkerState, Callable[[WorkerReport, str, float], RunFailure]] = {
    WorkerState.MEMORY_LIMIT: _memory_limit,
    WorkerState.DISK_LIMIT: _disk_limit,
    WorkerState.THREAD_LIMIT: _thread_limit,
    WorkerState.PROTOCOL_VIOLATION: _protocol_violation,
    WorkerState.ENDED: _ended,
    WorkerState.TIMED_OUT: _timed_out,
    WorkerState.STOPPED: _stopped,
}
