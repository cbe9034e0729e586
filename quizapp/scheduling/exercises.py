"""Exercises in the schedule: the effect of a verdict or a code review, and the progress of each exercise."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.scheduling.cards import CODE_REVIEW, EXERCISE, NEW, REVIEW, CardRow, Rating
from quizapp.scheduling.events import Draft, EventType, Moment, new_id
from quizapp.scheduling.rating_rules import (
    is_submission,
    propose_code_review,
    propose_debugging,
    propose_verdict,
)
from quizapp.scheduling.recorder import ActRecorder, Evidence
from quizapp.scheduling.study_day import as_datetime
from quizapp.scheduling.views import ExerciseProgress, ExerciseState, RecordedReview, StageTask
from quizapp.store.documents import SubmissionSummary


class VerdictProgress(NamedTuple):
    """What a verdict means for its exercise.

    ``passed``: all core stages hold. ``complete``: so do the stages beyond the core, if there are any; an
    exercise that is all core is passed, and nothing is left of it. ``share``: how much of the whole
    exercise held, 0 to 1, so that a verdict on the first stages is never all of it.
    """

    passed: bool
    complete: bool
    share: float


def progress_of(verdict: Mapping[str, object], exercise: Exercise) -> VerdictProgress:
    """What a verdict (the JSON of ``grade --json``) means for its exercise.

    A verdict without stages, from before there were any, passed the exercise if it passed.
    """
    strict = bool(verdict.get("passed"))
    tests, stages = _rows(verdict, "tests"), _rows(verdict, "stages")
    share = sum(bool(test.get("passed")) for test in tests) / len(tests) if tests else float(strict)
    if not stages:
        return VerdictProgress(strict, complete=False, share=share)
    held = {stage.get("name") for stage in stages if stage.get("passed")}
    graded = {stage.get("name") for stage in stages}
    has_more = any(not stage.is_core for stage in exercise.stages)
    behaviours = sum(len(stage.behaviours) for stage in exercise.stages if stage.name in graded)
    return VerdictProgress(
        passed=all(stage.name in held for stage in exercise.stages if stage.is_core),
        complete=has_more and strict and all(stage.name in held for stage in exercise.stages),
        share=share * behaviours / max(1, len(exercise.behaviours)) if exercise.behaviours else share,
    )


def open_stage_sentence(stage: str) -> str:
    """What a pass means whose stage outside the core fails."""
    return f"The core holds, so the exercise is passed; stage {stage} comes back as a task of its own."


def _rows(verdict: Mapping[str, object], key: str) -> Sequence[Mapping[str, object]]:
    rows = verdict.get(key)
    return rows if isinstance(rows, Sequence) else ()


_REVIEW_SOURCE = "code_review"
_SOURCES = {EventType.VERDICT: "exercise", EventType.DEBUGGING: "debugging"}


class _Effort(NamedTuple):
    """The effort on an exercise since it was last passed or rated: submissions, and hints seen."""

    submissions: int
    hints: int


class CodeReviewOutcome(NamedTuple):
    """How a code review went, as far as the schedule needs it.

    ``marks`` are of 100, ``confidence`` is in percent, ``seconds`` the time used of ``budget``, ``seed`` that
    of the review.
    """

    marks: int
    confidence: int
    seconds: float
    budget: float
    seed: int


class InterviewCodeReview(NamedTuple):
    """A code review of an interview: the exercise, the result as it is stored, and how it went."""

    slug: str
    document: Mapping[str, object]
    outcome: CodeReviewOutcome


class SubmissionFacts(NamedTuple):
    """How a submission came about; the fields are those of ``Study.record_verdict``."""

    asked: bool = True
    hints: int = 0
    opened_solution: bool = False
    seconds: float = 0.0
    found_faults: tuple[str, ...] = ()
    source: str = ""


def record(
    recorder: ActRecorder, slug: str, verdict: Mapping[str, object], source: str, attempt: SubmissionFacts
) -> RecordedReview | None:
    """Append the verdict and its effects in one transaction; see ``Study.record_verdict``.

    A verdict passes the exercise if all core stages hold. After a pass the exercise's due questions wait
    until tomorrow, after an opened solution they come tomorrow. A pass of debugged code is rated Hard.
    """
    name = recorder.resolve(EXERCISE + slug)
    now = recorder.time.now()
    exercise = recorder.bank.exercises[slug]
    progress = progress_of(verdict, exercise)
    seconds, opened_solution = attempt.seconds, attempt.opened_solution
    # The first stages of a run in stages hold: that is progress, and no submission that failed.
    is_halfway = bool(verdict.get("passed")) and not progress.passed
    counted = not is_halfway and is_submission(passed=progress.passed, asked=attempt.asked, source=source)
    kind = EventType.DEBUGGING if attempt.found_faults else EventType.VERDICT
    with recorder.store.transaction():
        effort = _effort(recorder, name)
        effort = _Effort(effort.submissions + counted, max(effort.hints, attempt.hints))
        row = recorder.row(name)
        if kind == EventType.DEBUGGING:
            proposal = propose_debugging(progress.passed)
            details: dict[str, object] = {"faults": list(attempt.found_faults)}
        else:
            proposal = propose_verdict(
                progress.passed,
                effort.submissions,
                effort.hints,
                opened_solution,
                seconds,
                exercise.minutes * 60,
            )
            details = {
                "submissions": effort.submissions,
                "counted": counted,
                "opened_solution": opened_solution,
            }
        details |= {
            "status": str(verdict.get("status", "")),
            "passed": progress.passed,
            "complete": progress.complete,
        }
        rating = proposal.rating if proposal and _is_review(row, now, proposal.rating) else None
        source_of_event = attempt.source or _SOURCES[kind]
        evidence = Evidence(seconds, rating, source=source_of_event)
        draft = Draft(kind, now, card=name, ms=round(seconds * 1000), source=source_of_event)
        if rating:
            draft = recorder.draft_review(row, rating, now, evidence, kind=kind)
        draft = draft._replace(id=new_id(), hints=effort.hints, data=details)
        # The linked events carry the verdict as parent, so that one undo takes back all of them.
        linked = _linked_questions(recorder, slug, now, draft.id, opened_solution) if rating else []
        event, *_ = recorder.store.append(draft, *linked)
        document = {**verdict, "progress": progress._asdict()}
        recorder.store.documents.add_submission(slug, now.time, document, source, event.id)
    return recorder.recorded(event, row.lapses, recorder.row(name), effort.submissions) if rating else None


def rerate(recorder: ActRecorder, event_id: str, rating: Rating) -> RecordedReview:
    """Undo the grade of an exercise and record it again with another rating, in one transaction.

    Raises `QuizError` if the exercise was graded or rated again since.
    """
    store, now = recorder.store, recorder.time.now()
    with store.transaction():
        old = store.log.find(event_id)
        standing = store.log.standing(EventType(old.type), old.card) if old else []
        if old is None or not standing or standing[-1].id != event_id:
            raise QuizError("There is a later grade, so the rating of this one stays as it is.")
        store.append(Draft(EventType.UNDO, now, target=event_id))
        row = recorder.row(old.card)
        proposed = None if old.proposed is None else Rating(old.proposed)
        evidence = Evidence(old.ms / 1000, proposed, hints=old.hints, source=old.source)
        draft = recorder.draft_review(row, rating, now, evidence, kind=EventType(old.type), data=old.details)
        draft = draft._replace(id=new_id())
        slug = old.card.removeprefix(EXERCISE)
        linked = _linked_questions(recorder, slug, now, draft.id, recall=False)
        event, *_ = store.append(draft, *linked)
        for graded in store.documents.submissions(slug):
            if graded.event == event_id:
                store.documents.add_submission(slug, now.time, graded.verdict, graded.source, event.id)
        submissions = int(old.details.get("submissions", 0))
    return recorder.recorded(event, row.lapses, recorder.row(old.card), submissions)


def record_code_review(
    recorder: ActRecorder,
    slug: str,
    document: Mapping[str, object],
    outcome: CodeReviewOutcome,
) -> RecordedReview | None:
    """Append a code review and its effects in one transaction; see ``Study.record_code_review``.

    The exercise's due questions wait until tomorrow after a good one, and come tomorrow after a bad one.
    """
    name = recorder.resolve(CODE_REVIEW + slug)
    now = recorder.time.now()
    with recorder.store.transaction():
        past = recorder.store.log.standing(EventType.CODE_REVIEW, name)
        # The program may have been killed between this event and the removal of the draft behind it.
        if document.get("id") and any(event.details.get("id") == document["id"] for event in past):
            return None
        row = recorder.row(name)
        proposed = _rating_of(outcome)
        rating = proposed if _is_review(row, now, proposed) else None
        event, *_ = recorder.store.append(*_review_drafts(recorder, slug, document, outcome, rating))
    return recorder.recorded(event, row.lapses, recorder.row(name)) if rating else None


def interview_review_drafts(
    recorder: ActRecorder, reviews: Iterable[InterviewCodeReview], parent: str
) -> list[Draft]:
    """The events of code reviews in an interview, each of them a review, whether its card is due or not."""
    return [
        draft
        for slug, document, outcome in reviews
        for draft in _review_drafts(recorder, slug, document, outcome, _rating_of(outcome), parent)
    ]


def _rating_of(outcome: CodeReviewOutcome) -> Rating:
    return propose_code_review(outcome.marks, outcome.confidence, outcome.seconds, outcome.budget).rating


def _review_drafts(
    recorder: ActRecorder,
    slug: str,
    document: Mapping[str, object],
    outcome: CodeReviewOutcome,
    rating: Rating | None,
    parent: str = "",
) -> list[Draft]:
    """A code review and what it does to the questions of its exercise, behind ``parent`` if there is one."""
    now, name = recorder.time.now(), recorder.resolve(CODE_REVIEW + slug)
    draft = Draft(
        EventType.CODE_REVIEW, now, card=name, ms=round(outcome.seconds * 1000), source=_REVIEW_SOURCE
    )
    if rating:
        evidence = Evidence(outcome.seconds, rating, source=_REVIEW_SOURCE)
        draft = recorder.draft_review(recorder.row(name), rating, now, evidence, kind=EventType.CODE_REVIEW)
    draft = draft._replace(
        id=new_id(), parent=parent, seed=outcome.seed, confidence=outcome.confidence, data=document
    )
    # A review that went neither well nor badly says nothing about the questions.
    if rating not in (Rating.AGAIN, Rating.GOOD, Rating.EASY):
        return [draft]
    linked = _linked_questions(recorder, slug, now, parent or draft.id, recall=rating == Rating.AGAIN)
    return [draft, *linked]


def _effort(recorder: ActRecorder, name: str) -> _Effort:
    """Count submissions and hints since the exercise was last passed or rated.

    Verdicts without ``counted`` come from versions in which every verdict counted as a submission, so each of
    them still does. Hints of an exercise come in a fixed order, so the largest number covers the others.
    """
    submissions = hints = 0
    for event in reversed(recorder.store.log.standing(EventType.VERDICT, name)):
        details = event.details
        if event.rating is not None or details.get("passed"):
            break
        submissions += bool(details.get("counted", not details.get("opened_solution")))
        hints = max(hints, event.hints)
    return _Effort(submissions, hints)


def _is_review(row: CardRow, now: Moment, rating: Rating) -> bool:
    """Whether a verdict is a review: the first one is, and one while the exercise is due."""
    if row.state == NEW or row.due_day <= now.day:
        return True
    # Opening the solution before the exercise is due shows that it was forgotten. That counts once a day.
    return rating == Rating.AGAIN and row.last_day < now.day


def _linked_questions(
    recorder: ActRecorder, slug: str, now: Moment, parent: str, recall: bool
) -> list[Draft]:
    """Events that bring the exercise's questions back tomorrow (``recall``) or give them a day's rest."""
    kind = EventType.RECALL if recall else EventType.CREDIT
    drafts = []
    for question in recorder.bank.questions.values():
        if question.exercise != slug:
            continue
        row = recorder.store.tables.card(question.id)
        if row and row.state == REVIEW and (recall or row.due_day <= now.day):
            drafts.append(Draft(kind, now, card=question.id, parent=parent))
    return drafts


def states(recorder: ActRecorder, slugs: Iterable[str]) -> dict[str, ExerciseState]:
    """The states of exercises by slug."""
    summaries = recorder.store.documents.summary()
    return {slug: _state(recorder, slug, summaries.get(slug, SubmissionSummary())) for slug in slugs}


def _state(recorder: ActRecorder, slug: str, summary: SubmissionSummary) -> ExerciseState:
    row = recorder.store.tables.card(EXERCISE + slug)
    scheduled = row is not None and row.state != NEW
    today = recorder.time.now().day
    if row and scheduled and row.due_day <= today:
        state = ExerciseProgress.DUE
    elif summary.complete is not None:
        state = ExerciseProgress.COMPLETE
    elif summary.passed is not None:
        state = ExerciseProgress.PASSED
    else:
        state = ExerciseProgress.STARTED if summary.submissions or scheduled else ExerciseProgress.NEW
    open_stage = _open_stage(recorder, slug, summary)
    return ExerciseState(
        slug,
        state,
        summary.submissions,
        as_datetime(summary.passed) if summary.passed is not None else None,
        as_datetime(row.due) if row and scheduled else None,
        summary.share,
        open_stage,
        bool(open_stage) and row is not None and row.last_day < today,
    )


def _open_stage(recorder: ActRecorder, slug: str, summary: SubmissionSummary) -> str:
    """The stage outside the core that a pass left open; empty without a pass, or if everything held once.

    A pass from before there were stages has a share of 1: all tests of its time held.
    """
    if summary.passed_share is None or summary.passed_share >= 1.0:
        return ""
    return next((stage.name for stage in recorder.bank.exercises[slug].stages if not stage.is_core), "")


def stage_tasks(recorder: ActRecorder) -> list[StageTask]:
    """The open stages that are due, in the bank's order. An exercise that is due itself brings its own."""
    bank = recorder.bank.exercises
    tasks = []
    for slug, state in states(recorder, bank).items():
        if state.open_stage_due and state.state == ExerciseProgress.PASSED:
            minutes = next(stage.minutes for stage in bank[slug].stages if stage.name == state.open_stage)
            tasks.append(StageTask(slug, state.open_stage, minutes))
    return tasks
