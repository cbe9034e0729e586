"""Interview mode of one exercise: the user's run through its stages, kept on disk between commands."""

import msgspec

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.verdict import Verdict
from quizapp.practice.practice_folder import PracticeFolder, PracticeMode
from quizapp.practice.stage_task import stage_task, without_docstrings
from quizapp.practice.staged_run import StagedRun, StageGrade, StageOutcome


class _RunDocument(msgspec.Struct):
    """What is stored of a run; ``started`` is UTC in milliseconds."""

    exercise: str
    started: int
    grades: list[StageGrade] = []


class StageFiles:
    """The user's run through the stages of ``exercise``, in ``stages/`` beside their own file.

    The user edits ``path``, which begins as the starter without docstrings. The clock of a run starts with it
    and keeps running, as an interviewer's does. Times (``now``) are UTC in milliseconds.
    """

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self._folder = PracticeFolder(exercise, PracticeMode.STAGES)
        self.path = self._folder.path
        self.former = self._folder.former
        self._started = 0
        self.run = StagedRun(exercise.stages)

    @classmethod
    def resume(cls, exercise: Exercise) -> "StageFiles | None":
        """The stored run, finished or not; None without one. Raises `QuizError` if it cannot be read."""
        files = cls(exercise)
        return files if files._load() else None

    @classmethod
    def open(cls, exercise: Exercise, now: int, *, restart: bool = False) -> "StageFiles":
        """The run in progress; a new one without one, after a finished one, or to ``restart``.

        A new run keeps the module of the one before as ``former``. Raises `QuizError`.
        """
        files = cls(exercise)
        if not restart and files._load() and not files.run.finished:
            files._folder.ensure_module(files.starter)
            return files
        files._started, files.run.grades = now, []
        files._folder.begin(files.starter, files._as_document())
        return files

    @classmethod
    def in_progress(cls, exercise: Exercise) -> "StageFiles":
        """The run to grade. Raises `QuizError`, which says how to begin one, if none is in progress."""
        files = cls.resume(exercise)
        begin = f"'quizapp exercise {exercise.slug} --stages' begins"
        if files is None:
            raise QuizError(f"no run in stages is in progress for {exercise.slug}; {begin} one")
        if files.run.finished:
            raise QuizError(f"all stages of {exercise.slug} hold already; {begin} a new run")
        files._folder.ensure_module(files.starter)
        return files

    @property
    def starter(self) -> str:
        """The text that the module of a new run has."""
        return without_docstrings(self.exercise.starter)

    @property
    def task(self) -> str:
        """The task as far as it is shown, in Markdown."""
        return stage_task(self.exercise.prompt, self.run.shown_stages)

    def seconds(self, now: int) -> float:
        """The time on the clock of the run."""
        return max(0.0, (now - self._started) / 1000)

    def stage_seconds(self, now: int) -> float:
        """The time since the current stage was shown."""
        return max(0.0, self.seconds(now) - self.run.revealed_at)

    def record(self, verdict: Verdict, now: int) -> StageOutcome:
        """Store a grade of the stages shown and say what it means. It is on disk when this returns."""
        self._load()  # another window may have graded in the meantime
        outcome = self.run.record(verdict, self.seconds(now))
        self._folder.write(self._as_document())
        return outcome

    def preview(self, verdict: Verdict, now: int) -> StageOutcome:
        """What a grade would mean, without storing it."""
        return StagedRun(self.run.stages, list(self.run.grades)).record(verdict, self.seconds(now))

    def _load(self) -> bool:
        remedy = f"'quizapp exercise {self.exercise.slug} --stages --restart' begins a new run"
        stored = self._folder.read(_RunDocument, remedy)
        if stored is None:
            return False
        self._started, self.run.grades = stored.started, stored.grades
        return True

    def _as_document(self) -> _RunDocument:
        return _RunDocument(self.exercise.slug, self._started, self.run.grades)
