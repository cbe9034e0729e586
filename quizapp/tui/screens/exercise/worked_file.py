"""What the exercise screen works on: the user's own file, a run in stages, or code with faults."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.submission import user_file
from quizapp.judge.verdict import Verdict
from quizapp.practice.debug_files import DebugFiles, behaviours_only
from quizapp.practice.faults import debug_sentence
from quizapp.practice.log_grade import log_debug_grade, log_stage_grade
from quizapp.practice.practice_folder import PracticeMode
from quizapp.practice.stage_files import StageFiles
from quizapp.practice.staged_run import outcome_sentence
from quizapp.scheduling.exercises import open_stage_sentence, progress_of
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import RecordedReview
from quizapp.util.text import clock as clock_text
from quizapp.util.text import plural


class GradeEffort(NamedTuple):
    """How a grade came about: whether the user asked for it, and the hints seen since the last pass."""

    asked: bool
    hints: int


class GradeEffect(NamedTuple):
    """What a recorded grade means: good news, bad news, whether the exercise is passed, and a new brief.

    ``review`` is how the grade was rated, if it was.
    """

    note: str = ""
    warning: str = ""
    passed: bool = False
    revealed: bool = False
    review: RecordedReview | None = None


class WorkedFile(Protocol):
    """The file that the screen edits and grades, with what the learner may know about it."""

    path: Path
    label: str
    """What is said before the exercise's title; empty for the user's own file."""

    @property
    def task(self) -> str:
        """What the task pane shows, in Markdown."""

    @property
    def stages(self) -> int | None:
        """How many leading stages to grade; None grades all of them."""

    def is_untouched(self, text: str) -> bool:
        """Whether nothing is written yet."""

    def time(self) -> str:
        """The clock in words."""

    def shown(self, verdict: Verdict) -> Verdict:
        """The part of a verdict that the learner may see."""

    def record(self, verdict: Verdict, source: str, effort: GradeEffort, /) -> GradeEffect:
        """Store the grade and say what it means. Raises `QuizError`."""


class OwnWork:
    """The user's own file: the whole prompt, all hidden tests."""

    label = ""
    stages = None

    def __init__(self, study: Study, exercise: Exercise, clock: Callable[[], float]) -> None:
        self._study = study
        self._exercise = exercise
        self._clock = clock
        self._opened_at = clock()
        self.path = user_file(exercise)
        self.task = exercise.prompt

    def is_untouched(self, text: str) -> bool:
        """Whether it is still the starter, and nothing was submitted."""
        return text == self._exercise.starter and not self._study.submissions(self._exercise.slug)

    def time(self) -> str:
        """The time since the exercise was opened."""
        return f"{clock_text(self._clock() - self._opened_at)} of {self._exercise.minutes}:00"

    def shown(self, verdict: Verdict) -> Verdict:
        """All of it."""
        return verdict

    def record(self, verdict: Verdict, source: str, effort: GradeEffort, /) -> GradeEffect:
        """Schedule the exercise by the verdict."""
        document = verdict.as_json()
        slug = self._exercise.slug
        review = self._study.record_verdict(
            slug,
            document,
            source_text=source,
            asked=effort.asked,
            hints=effort.hints,
            seconds=self._clock() - self._opened_at,
        )
        if not progress_of(document, self._exercise).passed:
            return GradeEffect()
        notes = [rated_sentence(review)] if review else []
        open_stage = self._study.exercise_state(slug).open_stage
        if open_stage and not verdict.passed:
            notes.append(open_stage_sentence(open_stage))
        return GradeEffect(" ".join(notes), passed=True, review=review)


class StagedWork:
    """Interview mode: one brief after the other, against the clock of the run."""

    label = "Interview: "

    def __init__(self, study: Study, exercise: Exercise) -> None:
        self._study = study
        self._files = StageFiles.open(exercise, study.now().time)
        self.path = self._files.path

    @property
    def task(self) -> str:
        """The briefs so far, and the interface."""
        return self._files.task

    @property
    def stages(self) -> int:
        """The stages shown so far."""
        return self._files.run.shown

    def is_untouched(self, text: str) -> bool:
        """Whether it is still the starter without docstrings."""
        return text == self._files.starter

    def time(self) -> str:
        """The time of the stage and of the whole run; at the end, what the run took."""
        run, now = self._files.run, self._study.now().time
        if run.finished:
            return f"all stages in {clock_text(run.grades[-1].seconds)} of {run.minutes}:00"
        stage = f"{run.current.name} {clock_text(self._files.stage_seconds(now))} of {run.current.minutes}:00"
        return f"{stage} · in all {clock_text(self._files.seconds(now))} of {run.minutes}:00"

    def shown(self, verdict: Verdict) -> Verdict:
        """All of it; it is about the stages shown only."""
        return verdict

    def record(self, verdict: Verdict, source: str, effort: GradeEffort, /) -> GradeEffect:
        """Reveal the next stage if this grade is green."""
        outcome, review = log_stage_grade(
            self._study, self._files, verdict, source, asked=effort.asked, hints=effort.hints
        )
        sentence = outcome_sentence(outcome)
        if not outcome.green:
            return GradeEffect(warning=sentence)
        note = f"{sentence} {rated_sentence(review)}" if review else sentence
        revealed = outcome.revealed is not None
        return GradeEffect(note, passed=self._files.run.core_held, revealed=revealed, review=review)


class DebugWork:
    """Code with faults: the verdict says which behaviors fail, and not where."""

    stages = None

    def __init__(self, study: Study, exercise: Exercise) -> None:
        self._study = study
        self._exercise = exercise
        files = DebugFiles.resume(exercise)
        if files is None:
            raise QuizError(f"'quizapp exercise {exercise.slug} --faults 4' makes code with faults first")
        self._files = files
        self.path = files.path
        self.label = "Debug: "

    @property
    def task(self) -> str:
        """How many faults there are, and the behaviors that a first grade found broken."""
        program = self._files.program
        broken = [f"- {self._exercise.behaviours.get(number, '')}" for number in self._files.failing]
        count = plural(len(program.faults), "fault")
        parts = [
            f"# {self._exercise.title}",
            f"Somebody else wrote this code, and it has {count}. {program.shortfall}".strip(),
            "A fault is found when the tests of its behavior hold. A first grade finds broken:",
            "\n".join(broken),
            "## The task they had",
            self._exercise.prompt.strip().partition("\n")[2].strip(),
        ]
        return "\n\n".join(parts)

    def is_untouched(self, text: str) -> bool:
        """Whether the code is still as it was given."""
        return text == self._files.program.source

    def time(self) -> str:
        """The clock of the run; at the end, what it took."""
        grades = self._files.grades
        if self._files.finished and grades:
            return f"all faults in {clock_text(grades[-1].seconds)}"
        seconds = self._files.seconds(self._study.now().time)
        return f"{plural(len(self._files.program.faults), 'fault')} · {clock_text(seconds)}"

    def shown(self, verdict: Verdict) -> Verdict:
        """Which behaviors fail."""
        return behaviours_only(verdict)

    def record(self, verdict: Verdict, source: str, _effort: GradeEffort, /) -> GradeEffect:
        """Say how many faults are found, and at the end which they were."""
        outcome, review = log_debug_grade(self._study, self._files, verdict, source)
        sentence = debug_sentence(outcome)
        if not outcome.passed:
            return GradeEffect(warning=sentence)
        faults = [fault.why for fault in self._files.program.faults if fault.why]
        rated = [rated_sentence(review)] if review else []
        return GradeEffect(" ".join([sentence, *rated, *faults]), passed=True, review=review)


def open_work(
    study: Study, exercise: Exercise, mode: PracticeMode | None, clock: Callable[[], float]
) -> WorkedFile:
    """The file to work on; a run in stages goes on or begins. Raises `QuizError`."""
    if mode is None:
        return OwnWork(study, exercise, clock)
    return StagedWork(study, exercise) if mode == PracticeMode.STAGES else DebugWork(study, exercise)


def rated_sentence(review: RecordedReview) -> str:
    """How a grade was rated, when the exercise comes back, and how to rate it otherwise."""
    effort = f" after {plural(review.submissions, 'submission')}" if review.submissions else ""
    effort += f" and {plural(review.hints, 'hint')}" if review.hints else ""
    return f"Rated {review.rating.label}{effort}; comes back in {review.text}. f4, then r: another rating."
