"""Writes a grade of a practice run to both places: the learner's log, and the run on disk."""

from quizapp.judge.verdict import Verdict
from quizapp.practice.debug_files import DebugFiles
from quizapp.practice.faults import DebugOutcome
from quizapp.practice.stage_files import StageFiles
from quizapp.practice.staged_run import StageOutcome
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import RecordedReview


def log_stage_grade(
    study: Study, files: StageFiles, verdict: Verdict, source: str, *, asked: bool = True, hints: int = 0
) -> tuple[StageOutcome, RecordedReview | None]:
    """Record a grade of the stages shown; return what it means, and the review if it passed the exercise.

    A pass of the core is rated by the clock of the run and the grades that failed. A save that nobody
    ``asked`` to grade is no grade of the run unless it is green.
    """
    now = study.now().time
    # The log first: after a kill in between, the same grade again is no second review, and the run goes on.
    review = study.record_verdict(
        files.exercise.slug,
        verdict.as_json(),
        source_text=source,
        asked=asked,
        hints=hints,
        seconds=files.seconds(now),
    )
    counts = asked or verdict.passed
    return files.record(verdict, now) if counts else files.preview(verdict, now), review


def log_debug_grade(
    study: Study, files: DebugFiles, verdict: Verdict, source: str
) -> tuple[DebugOutcome, RecordedReview | None]:
    """Record a grade of code with faults; return what it shows, and the review if everything held.

    A pass counts for the exercise, Hard at best. A grade that fails is kept with the run alone: code that
    somebody else wrote says nothing about what the learner can write.
    """
    now = study.now().time
    review = None
    if verdict.passed:
        mutants = [fault.mutant for fault in files.program.faults]
        review = study.record_verdict(
            files.exercise.slug,
            verdict.as_json(),
            source_text=source,
            seconds=files.seconds(now),
            found_faults=mutants,
        )
    return files.record(verdict, now), review
