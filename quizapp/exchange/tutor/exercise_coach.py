"""Grades the learner's file and gives hints, under the rules of the exercise screen."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quizapp import paths
from quizapp.bank.loader import find_exercise
from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.exchange.tutor.card_session import SOURCE
from quizapp.exchange.tutor.results import FailedBehavior, GivenHint, Grade, GradedStage

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict
    from quizapp.scheduling.service import Study


class FileToGrade(NamedTuple):
    """A file of the workspace as it was read. ``own`` if it is the learner's file for the exercise."""

    exercise: Exercise
    path: Path
    source: bytes
    own: bool

    def judge(self) -> "Verdict":
        """Run the hidden tests, which takes seconds. Raises `QuizError`. May be called on any thread."""
        from quizapp.judge import grade

        # The bytes and not the path, so that exactly what is logged is graded.
        return grade(self.exercise, self.source)


class ExerciseCoach:
    """What a tutor may do about code. Hints count until the exercise is passed, as on its screen."""

    def __init__(self, study: "Study") -> None:
        self._study = study
        self._hints: dict[str, list[str]] = {}

    def open(self, slug: str, file: str = "") -> FileToGrade:
        """Read the learner's file, or another Python file in the workspace. Raises `QuizError`."""
        from quizapp.judge.submission import read_source, user_path

        exercise = find_exercise(self._study.bank, slug)
        own = user_path(exercise)
        path = _in_workspace(file or own)
        is_own = path == own.resolve()
        if is_own and not path.exists():
            raise QuizError(f"no {exercise.module} yet; 'quizapp exercise {slug}' makes one")
        return FileToGrade(exercise, path, read_source(path), is_own)

    def close(self, file: FileToGrade, verdict: "Verdict") -> Grade:
        """Log the verdict on the learner's own file, which also schedules the exercise, and describe it."""
        slug = file.exercise.slug
        note = f"Only {file.exercise.module} of the learner is logged, so this grade is not."
        if file.own:
            note = self._record(file, verdict)
        return Grade(
            slug,
            str(file.path),
            verdict.status,
            verdict.passed,
            verdict.held,
            len(verdict.tests),
            [GradedStage(stage.name, stage.passed) for stage in verdict.stages],
            _failed(verdict, file.exercise),
            verdict.error or "",
            verdict.device,
            verdict.seed,
            verdict.tier,
            file.own,
            note,
        )

    def _record(self, file: FileToGrade, verdict: "Verdict") -> str:
        from quizapp.scheduling.exercises import open_stage_sentence, progress_of

        slug = file.exercise.slug
        review = self._study.record_verdict(
            slug,
            verdict.as_json(),
            source_text=file.source.decode("utf-8-sig"),
            hints=len(self._hints.get(slug, ())),
            source=SOURCE,
        )
        if not progress_of(verdict.as_json(), file.exercise).passed:
            return "Logged as a submission."
        self._hints.pop(slug, None)
        notes = [f"Rated {review.rating.label}, comes back in {review.text}."] if review else ["Logged."]
        open_stage = self._study.exercise_state(slug).open_stage
        if open_stage and not verdict.passed:
            notes.append(open_stage_sentence(open_stage))
        return " ".join(notes)

    def hint(self, slug: str) -> GivenHint:
        """The next hint; those that help with what the last grade found come first. Raises `QuizError`."""
        from quizapp.judge.verdict import ordered_hints

        exercise = find_exercise(self._study.bank, slug)
        given = self._hints.setdefault(slug, [])
        left = [text for text in ordered_hints(exercise, self._last_verdict(slug)) if text not in given]
        if not left:
            raise QuizError(f"There is no further hint for '{slug}'.")
        given.append(left[0])
        return GivenHint(slug, left[0], len(given), len(left) - 1)

    def _last_verdict(self, slug: str) -> "Verdict | None":
        from quizapp.judge.verdict import Verdict

        past = self._study.submissions(slug)
        try:
            return Verdict.from_json(past[-1].verdict) if past else None
        except (KeyError, TypeError, ValueError):  # written by another version, or without a grade
            return None


def _in_workspace(file: str | Path) -> Path:
    """The file without links. Raises `QuizError` unless it is a Python file in the workspace."""
    workspace = paths.workspace().resolve()
    try:
        path = (workspace / file).resolve()
        inside = path.is_relative_to(workspace) and path.suffix == ".py"
    except (OSError, ValueError, RuntimeError):  # such as a zero byte, or links that form a circle
        inside = False
    if not inside:
        raise QuizError(f"only Python files in {workspace} are graded here; leave the file out for your own")
    return path


def _failed(verdict: "Verdict", exercise: Exercise) -> list[FailedBehavior]:
    from quizapp.judge.render.failures import group_failures, messages_of
    from quizapp.judge.render.text import sentence_of

    groups = group_failures(verdict)
    return [
        FailedBehavior(
            number,
            sentence_of(number, exercise),
            messages_of([test for test in verdict.tests if test.behaviour == number]),
            number in groups.consequences,
        )
        for number in (*groups.causes, *groups.unwritten, *groups.consequences)
    ]
