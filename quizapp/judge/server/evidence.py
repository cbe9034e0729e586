"""The evidence of one run, put together from its workers' transcripts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from quizapp.judge.server.collector import WorkerReport
from quizapp.judge.server.feedback import MEMORY_TEXT, explain
from quizapp.judge.testing.checks import Raised
from quizapp.judge.verdict import ERROR, MEMORY
from quizapp.judge.worker.job import HELLO
from quizapp.judge.worker.transcript import TranscriptError, decode


@dataclass
class RunEvidence:
    """The evidence of one run: values and errors by path, or why there is none."""

    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    status: str = ""
    problem: str = ""
    printed: str = ""

    def fail(self, status: str, problem: str) -> None:
        """Note why there is no evidence; the first reason stands."""
        if not self.status:
            self.status, self.problem = status, problem

    def absorb(
        self, reports: Sequence[WorkerReport], nonce: str, module: str, source: str, seconds: float
    ) -> None:
        """Add what one group of workers sent: a single one, or the ranks of a process group."""
        for report in reports:
            # The scratch folder's name means nothing to the learner.
            text = report.printed.text().replace(
                f"{report.worker.scratch.work}/rank{report.worker.rank}/", ""
            )
            if text and len(reports) > 1:
                text = f"[rank {report.worker.rank} of {len(reports)}]\n{text}"
            self.printed += text
        status, problem = explain(reports, module, source, seconds)
        if status:
            self.fail(status, problem)
            return
        for report in reports:
            self._take(report, len(reports), nonce, module)

    def _take(self, report: WorkerReport, world: int, nonce: str, module: str) -> None:
        try:
            sent = decode(bytes(report.message[HELLO.size :]))
            if sent["nonce"] != nonce:
                raise TranscriptError("the message has no valid mark")
            if "problem" in sent:
                self.fail(ERROR, str(sent["problem"])[:1000])
                return
            values, errors, problem = dict(sent["values"]), dict(sent["errors"]), sent["import"]
            raised = Raised(problem, module) if problem is not None else None
            for details in errors.values():
                Raised(details, module)
        except (TranscriptError, KeyError, TypeError, ValueError, AttributeError):
            self.fail(ERROR, "Your code put something else in place of the judge's record of its run.")
            return
        if raised is not None:
            self.fail(*_on_import(raised, module))
            return
        for source, target in ((values, self.values), (errors, self.errors)):
            for path, value in source.items():
                name, _, rest = str(path).partition("/")
                key = f"{name}/world{world}/rank{report.worker.rank}/{rest}".rstrip("/")
                target[key if world > 1 else str(path)] = value


def _on_import(raised: Raised, module: str) -> tuple[str, str]:
    if raised.is_memory and not raised.line:
        return ERROR, "Python gave up while reading your module: it is nested too deeply."
    if raised.is_memory:
        return MEMORY, memory_sentence(raised, module)
    where = f" (line {raised.line})" if raised.line else ""
    text = f": {raised.message}" if raised.message else ""
    if raised.is_a("SystemExit"):
        return ERROR, f"SystemExit on import{text}{where}: your module must not end the program."
    return ERROR, f"{raised.types[0]} on import{text}{where}"


def memory_sentence(raised: Raised, module: str) -> str:
    """What to say where memory ran out."""
    where = f" at line {raised.line} of {module}" if raised.line else ""
    return f"Your code asked for more memory than {MEMORY_TEXT}{where}."
