"""Assembles the evidence of one run from its workers' transcripts, and derives the verdict's status."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizapp.judge.server.feedback import (
    RunFailure,
    import_failure,
    memory_failure,
    problem_failure,
)
from quizapp.judge.testing.checks import Raised
from quizapp.judge.testing.probes import CARRIED
from quizapp.judge.verdict import TestResult, VerdictStatus
from quizapp.judge.worker.job import WorkerAnswer
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

    def add_transcripts(
        self, transcripts: Sequence[bytes], probes: Sequence[str], nonce: str, module: str, scratch: Path
    ) -> None:
        """Add what one group of workers sent: a single worker, or the ranks of a process group.

        Evidence of other probes than ``probes``, which this group ran, is left out. ``scratch`` is the folder
        in which they worked.
        """
        names = {*probes, CARRIED.rstrip("/")}
        for rank, transcript in enumerate(transcripts):
            self._add_transcript(transcript, names, nonce, module, scratch, (rank, len(transcripts)))

    def _add_transcript(
        self,
        transcript: bytes,
        probes: set[str],
        nonce: str,
        module: str,
        scratch: Path,
        place: tuple[int, int],
    ) -> None:
        rank, world = place
        try:
            answer = WorkerAnswer.from_message(decode(transcript))
            if answer.nonce != nonce:
                raise TranscriptError("the message does not carry the run's nonce")
            if answer.problem is not None:
                self.fail(problem_failure(answer.problem, scratch))
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
                if name not in probes:
                    continue
                key = f"{name}/world{world}/rank{rank}/{below}".rstrip("/")
                target[key if world > 1 else str(path)] = value


@dataclass
class SeededRun:
    """One run of a submission with ``given``, the inputs of one seed."""

    seed: int
    given: Any
    evidence: RunEvidence = field(default_factory=RunEvidence)
    tests: list[TestResult] = field(default_factory=list)

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
