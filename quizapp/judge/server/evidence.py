"""Assembles the evidence of one run from its workers' transcripts, and derives the verdict's status."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from quizapp.judge.server.collector import WorkerReport
from quizapp.judge.server.feedback import (
    RunFailure,
    explain_failure,
    import_failure,
    memory_failure,
    problem_failure,
)
from quizapp.judge.testing.checks import Raised
from quizapp.judge.testing.probes import CARRIED
from quizapp.judge.verdict import TestResult, VerdictStatus
from quizapp.judge.worker.job import HELLO, WorkerAnswer
from quizapp.judge.worker.transcript import TranscriptError, decode

_FORGED = RunFailure(
    VerdictStatus.ERROR, "Your code put something else in place of the judge's record of its run."
)


@dataclass
class RunEvidence:
    """The result of running the probes: values and errors by path, or the failure that prevented them."""

    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    failure: RunFailure | None = None
    printed: str = ""

    @property
    def status(self) -> VerdictStatus | None:
        """The verdict's status if there is no evidence, otherwise None."""
        return None if self.failure is None else self.failure.status

    @property
    def problem(self) -> str:
        """Why there is no evidence; empty if there is."""
        return "" if self.failure is None else self.failure.text

    @property
    def carried(self) -> dict[str, Any]:
        """What the submission's first process hands to its second one, by name."""
        return {
            path.removeprefix(CARRIED): value
            for path, value in self.values.items()
            if path.startswith(CARRIED)
        }

    def fail(self, failure: RunFailure) -> None:
        """Note why there is no evidence. Only the first reason is kept."""
        if self.failure is None:
            self.failure = failure

    def add_reports(
        self, reports: Sequence[WorkerReport], nonce: str, module: str, source: str, seconds: float
    ) -> None:
        """Add what one group of workers sent: a single worker, or the ranks of a process group."""
        for report in reports:
            # Remove the scratch folder's name, which means nothing to the learner.
            folder = f"{report.worker.scratch.work}/rank{report.worker.rank}/"
            text = report.printed.text().replace(folder, "")
            if text and len(reports) > 1:
                text = f"[rank {report.worker.rank} of {len(reports)}]\n{text}"
            self.printed += text
        failure = explain_failure(reports, module, source, seconds)
        if failure is not None:
            self.fail(failure)
            return
        for report in reports:
            self._add_transcript(report, len(reports), nonce, module)

    def _add_transcript(self, report: WorkerReport, world: int, nonce: str, module: str) -> None:
        try:
            answer = WorkerAnswer.from_message(decode(bytes(report.message[HELLO.size :])))
            if answer.nonce != nonce:
                raise TranscriptError("the message does not carry the run's nonce")
            if answer.problem is not None:
                self.fail(problem_failure(answer.problem, report.worker.scratch.base))
                return
            raised = Raised(answer.import_error, module) if answer.import_error is not None else None
            for details in answer.errors.values():
                Raised(details, module)  # raises if it is malformed
        except (TranscriptError, KeyError, TypeError, ValueError, AttributeError):
            self.fail(_FORGED)
            return
        if raised is not None:
            self.fail(import_failure(raised, module))
            return
        for source, target in ((answer.values, self.values), (answer.errors, self.errors)):
            for path, value in source.items():
                name, _, below = str(path).partition("/")
                key = f"{name}/world{world}/rank{report.worker.rank}/{below}".rstrip("/")
                target[key if world > 1 else str(path)] = value


@dataclass
class SeededRun:
    """One run of a submission with the inputs of one seed.

    ``given`` holds the inputs. The ``second`` run of a grade has its probes in reverse order.
    """

    seed: int
    given: Any
    second: bool = False
    evidence: RunEvidence = field(default_factory=RunEvidence)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    tests: list[TestResult] = field(default_factory=list)

    @property
    def worker_seed(self) -> int:
        """A seed for the worker, from which it cannot reconstruct what ``seed`` generated."""
        return int.from_bytes(sha256(f"worker {self.seed}".encode()).digest()[:4])

    @property
    def passed(self) -> bool:
        """Whether every hidden test passes on this run's evidence."""
        return self.evidence.failure is None and bool(self.tests) and all(t.passed for t in self.tests)

    def outcome(self, module: str) -> tuple[VerdictStatus, str]:
        """The status and error text of the verdict if this run decides it."""
        evidence = self.evidence
        if evidence.failure is not None:
            return evidence.failure.status, evidence.failure.text
        if self.passed:
            return VerdictStatus.PASSED, ""
        errors = [Raised(details, module) for details in evidence.errors.values()]
        out_of_memory = next((error for error in errors if error.is_memory), None)
        if out_of_memory is not None:
            failure = memory_failure(out_of_memory, module)
            return failure.status, failure.text
        if errors and not evidence.values and not errors[0].is_a("NotImplementedError"):
            return VerdictStatus.ERROR, f"Your code raised {errors[0]}."
        return VerdictStatus.FAILED, ""
