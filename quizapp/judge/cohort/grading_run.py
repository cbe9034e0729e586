"""Grades what a class handed in, and continues where an earlier run ended."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Protocol

from quizapp.judge.cohort.class_folder import ClassFolder, StudentSubmission
from quizapp.judge.cohort.cluster_messages import ClusterOrder, ClusterReply
from quizapp.judge.cohort.grading_version import exercise_version, judge_version
from quizapp.judge.cohort.verdict_log import GradeKey, VerdictLog
from quizapp.judge.verdict import Verdict


@dataclass(frozen=True)
class GradedSubmission:
    """A submission with its verdict. Without one, ``reason`` says why, or is empty if it is still to come."""

    submission: StudentSubmission
    verdict: Verdict | None = None
    reason: str = ""

    @property
    def settled(self) -> bool:
        """Whether there is a verdict, or none is possible."""
        return self.verdict is not None or bool(self.submission.fault)

    @property
    def passed(self) -> bool:
        """Whether every hidden test passed."""
        return self.verdict is not None and self.verdict.passed

    @property
    def status(self) -> str:
        """The verdict's status; ``error`` if there can be none, ``waiting`` if it is still to come."""
        if self.verdict is not None:
            return str(self.verdict.status)
        return "error" if self.submission.fault else "waiting"


@dataclass(frozen=True)
class GradingOptions:
    """The options of every grade of a run; they mean what they mean for a single grade."""

    device: str = "cpu"
    timeout: float | None = None
    tier: str | None = None


class Graders(Protocol):
    """Whatever carries out orders; in a program, the workers of a cluster."""

    def grade(self, orders: Iterator[tuple[int, ClusterOrder]]) -> Iterator[tuple[int, ClusterReply]]:
        """Yield exactly one reply for each order, in any order."""
        ...


class ClassRun:
    """One run over a class. What the log has a verdict on is not graded again."""

    def __init__(self, handed_in: ClassFolder, options: GradingOptions, log: VerdictLog):
        self.handed_in = handed_in
        self._options = options
        self._log = log
        exercises = {submission.exercise.slug: submission.exercise for submission in handed_in.submissions}
        self.exercise_versions = {slug: exercise_version(exercise) for slug, exercise in exercises.items()}
        self._graded = [self._earlier(submission) for submission in handed_in.submissions]

    @property
    def graded(self) -> tuple[GradedSubmission, ...]:
        """Every submission with what is known of it, in the order of the class's folder."""
        return tuple(self._graded)

    @property
    def waiting(self) -> int:
        """How many submissions have no verdict yet, although they can be graded."""
        return sum(not graded.settled for graded in self._graded)

    def grade(self, graders: Graders) -> Iterator[GradedSubmission]:
        """Grade what is waiting, and yield each as soon as its verdict is on the disk.

        Raises `QuizError` if the graders refuse, or if the verdict cannot be written.
        """
        numbers = [number for number, graded in enumerate(self._graded) if not graded.settled]
        for number, reply in graders.grade((number, self._order(number)) for number in numbers):
            submission = self._graded[number].submission
            if reply.verdict is not None:
                self._log.add(self._key(submission), reply.verdict, worker=reply.worker)
            self._graded[number] = GradedSubmission(submission, reply.verdict, reply.text)
            yield self._graded[number]

    def _earlier(self, submission: StudentSubmission) -> GradedSubmission:
        if submission.fault:
            return GradedSubmission(submission, reason=submission.fault)
        return GradedSubmission(submission, self._log.get(self._key(submission)))

    def _key(self, submission: StudentSubmission) -> GradeKey:
        return GradeKey(
            submission.student,
            submission.exercise.slug,
            submission.source_hash,
            self.exercise_versions[submission.exercise.slug],
            judge_version(),
            **asdict(self._options),
        )

    def _order(self, number: int) -> ClusterOrder:
        submission = self._graded[number].submission
        return ClusterOrder(
            submission.exercise.slug,
            submission.file,
            submission.source,
            submission.seed,
            self.exercise_versions[submission.exercise.slug],
            judge_version(),
            **asdict(self._options),
        )
