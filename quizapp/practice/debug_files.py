"""Debugging one exercise: the user's copy of the solution with faults, kept on disk between commands."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.verdict import Verdict
from quizapp.practice.faults import DebugOutcome, FaultyProgram, PlantedFault, outcome_of, plant_and_grade
from quizapp.practice.practice_folder import PracticeFolder, PracticeMode


class DebugGrade(msgspec.Struct, frozen=True):
    """One grade: the time on the run's clock in seconds, the behaviors found, and whether all tests held."""

    seconds: float
    found: tuple[int, ...]
    passed: bool


class _DebugDocument(msgspec.Struct):
    """What is stored of a run; ``started`` is UTC in milliseconds, ``source`` the code as it was given."""

    exercise: str
    started: int
    seed: int
    wanted: int
    source: str
    faults: tuple[PlantedFault, ...]
    failing: tuple[int, ...]
    grades: list[DebugGrade] = []


class DebugFiles:
    """The user's run on faulty code, in ``debug/`` beside their own file.

    The user edits ``path``, which begins as the solution with the faults of ``program``. ``failing`` are the
    behaviors that failed in the first grade. Times (``now``) are UTC in milliseconds.
    """

    def __init__(self, exercise: Exercise, document: _DebugDocument) -> None:
        self.exercise = exercise
        self._folder = _folder(exercise)
        self._document = document
        self.path = self._folder.path
        self.former = self._folder.former

    @classmethod
    def resume(cls, exercise: Exercise) -> "DebugFiles | None":
        """The stored run, finished or not; None without one. Raises `QuizError` if it cannot be read."""
        remedy = f"'quizapp exercise {exercise.slug} --faults 4 --restart' begins a new run"
        document = _folder(exercise).read(_DebugDocument, remedy)
        return None if document is None else cls(exercise, document)

    @classmethod
    def continued(cls, exercise: Exercise, count: int, seed: int | None) -> "DebugFiles | None":
        """The run in progress, if it has ``count`` faults asked for and the seed given."""
        files = cls.resume(exercise)
        if files is None or files.finished or files._document.wanted != count:
            return None
        if seed is not None and files.seed != seed:
            return None
        files._folder.ensure_module(files._document.source)
        return files

    @classmethod
    def begin(
        cls, exercise: Exercise, now: int, count: int, seed: int, grade: Callable[[bytes], Verdict]
    ) -> "DebugFiles":
        """Plant the faults, grade them once, and start the clock. Raises `QuizError`.

        The module of the run before is kept as ``former``.
        """
        program, verdict = plant_and_grade(exercise, count, seed, grade)
        document = _DebugDocument(
            exercise.slug,
            now,
            seed,
            program.wanted,
            program.source,
            program.faults,
            tuple(sorted(verdict.failing_behaviours)),
        )
        _folder(exercise).begin(program.source, document)
        return cls(exercise, document)

    @classmethod
    def in_progress(cls, exercise: Exercise) -> "DebugFiles":
        """The run to grade. Raises `QuizError`, which says how to begin one, if none is in progress."""
        files = cls.resume(exercise)
        begin = f"'quizapp exercise {exercise.slug} --faults 4' begins"
        if files is None:
            raise QuizError(f"no debugging run is in progress for {exercise.slug}; {begin} one")
        if files.finished:
            raise QuizError(f"all faults of {exercise.slug} are found already; {begin} a new run")
        files._folder.ensure_module(files._document.source)
        return files

    @property
    def program(self) -> FaultyProgram:
        """The code as it was given, and its faults."""
        return FaultyProgram(self._document.source, self._document.faults, self._document.wanted)

    @property
    def seed(self) -> int:
        """The seed that chose the faults."""
        return self._document.seed

    @property
    def failing(self) -> tuple[int, ...]:
        """The behaviors that failed in the first grade."""
        return self._document.failing

    @property
    def finished(self) -> bool:
        """Whether a grade saw every hidden test hold."""
        return any(grade.passed for grade in self._document.grades)

    @property
    def grades(self) -> tuple[DebugGrade, ...]:
        """The grades so far, without the first one of the code as given."""
        return tuple(self._document.grades)

    def seconds(self, now: int) -> float:
        """The time on the clock of the run."""
        return max(0.0, (now - self._document.started) / 1000)

    def record(self, verdict: Verdict, now: int) -> DebugOutcome:
        """Store a grade and say what it shows. It is on disk when this returns."""
        outcome = outcome_of(self._document.faults, verdict)
        newest = type(self).resume(self.exercise)  # another window may have graded in the meantime
        if newest is not None and newest.seed == self.seed:
            self._document = newest._document
        self._document.grades.append(DebugGrade(self.seconds(now), outcome.found, outcome.passed))
        self._folder.write(self._document)
        return outcome


def behaviours_only(verdict: Verdict) -> Verdict:
    """The verdict without what its tests say: which behaviors fail, and no hint at where."""
    return replace(verdict, tests=tuple(replace(test, message="") for test in verdict.tests))


def _folder(exercise: Exercise) -> PracticeFolder:
    return PracticeFolder(exercise, PracticeMode.FAULTS)
