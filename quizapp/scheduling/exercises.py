"""Exercises in the schedule: the effect of a verdict or a code review, and the progress of each exercise."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quizapp.scheduling.cards import CODE_REVIEW, EXERCISE, NEW, REVIEW, CardRow, Rating
from quizapp.scheduling.events import Draft, EventType, Moment, new_id
from quizapp.scheduling.rating_rules import is_submission, propose_code_review, propose_verdict
from quizapp.scheduling.recorder import ActRecorder, Evidence
from quizapp.scheduling.study_day import as_datetime
from quizapp.scheduling.views import ExerciseProgress, ExerciseState, RecordedReview

_REVIEW_SOURCE = "code_review"


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


def record(
    recorder: ActRecorder,
    slug: str,
    verdict: Mapping[str, object],
    source: str,
    *,
    asked: bool,
    hints: int,
    opened_solution: bool,
    seconds: float,
) -> RecordedReview | None:
    """Append the verdict and its effects in one transaction; see ``Study.record_verdict``."""
    store = recorder.store
    name = recorder.resolve(EXERCISE + slug)
    now = recorder.time.now()
    passed = bool(verdict.get("passed"))
    counted = is_submission(passed=passed, asked=asked, source=source)
    with store.transaction():
        effort = _effort(recorder, name)
        effort = _Effort(effort.submissions + counted, max(effort.hints, hints))
        row = recorder.row(name)
        budget = recorder.bank.exercises[slug].minutes * 60
        proposal = propose_verdict(passed, effort.submissions, effort.hints, opened_solution, seconds, budget)
        rating = proposal.rating if proposal and _is_review(row, now, proposal.rating) else None
        evidence = Evidence(seconds, rating, source="exercise")
        details = {
            "status": str(verdict.get("status", "")),
            "passed": passed,
            "submissions": effort.submissions,
            "counted": counted,
            "opened_solution": opened_solution,
        }
        draft = Draft(EventType.VERDICT, now, card=name, ms=round(seconds * 1000), source="exercise")
        if rating:
            draft = recorder.draft_review(row, rating, now, evidence, kind=EventType.VERDICT)
        draft = draft._replace(id=new_id(), hints=effort.hints, data=details)
        # The linked events carry the verdict as parent, so that one undo takes back all of them.
        linked = _linked_questions(recorder, slug, now, draft.id, opened_solution) if rating else []
        event, *_ = store.append(draft, *linked)
        store.documents.add_submission(slug, now.time, verdict, source, event.id)
    return recorder.recorded(event, row.lapses, recorder.row(name), effort.submissions) if rating else None


def record_code_review(
    recorder: ActRecorder,
    slug: str,
    document: Mapping[str, object],
    outcome: CodeReviewOutcome,
) -> RecordedReview | None:
    """Append a code review and its effects in one transaction; see ``Study.record_code_review``."""
    name = recorder.resolve(CODE_REVIEW + slug)
    now = recorder.time.now()
    with recorder.store.transaction():
        row = recorder.row(name)
        marks, confidence, seconds, budget, seed = outcome
        proposed = propose_code_review(marks, confidence, seconds, budget).rating
        rating = proposed if _is_review(row, now, proposed) else None
        draft = Draft(EventType.CODE_REVIEW, now, card=name, ms=round(seconds * 1000), source=_REVIEW_SOURCE)
        if rating:
            evidence = Evidence(seconds, proposed, source=_REVIEW_SOURCE)
            draft = recorder.draft_review(row, rating, now, evidence, kind=EventType.CODE_REVIEW)
        draft = draft._replace(id=new_id(), seed=seed, confidence=confidence, data=document)
        linked: list[Draft] = []
        # A review that went neither well nor badly says nothing about the questions.
        if rating in (Rating.AGAIN, Rating.GOOD, Rating.EASY):
            linked = _linked_questions(recorder, slug, now, draft.id, recall=rating == Rating.AGAIN)
        event, *_ = recorder.store.append(draft, *linked)
    return recorder.recorded(event, row.lapses, recorder.row(name)) if rating else None


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
    summary = recorder.store.documents.summary()
    today = recorder.time.now().day
    by_slug = {}
    for slug in slugs:
        number, passed, best = summary.get(slug, (0, None, 0.0))
        row = recorder.store.tables.card(EXERCISE + slug)
        scheduled = row is not None and row.state != NEW
        if row and scheduled and row.due_day <= today:
            state = ExerciseProgress.DUE
        elif passed is not None:
            state = ExerciseProgress.PASSED
        else:
            state = ExerciseProgress.STARTED if number or scheduled else ExerciseProgress.NEW
        due = as_datetime(row.due) if row and scheduled else None
        passed_at = as_datetime(passed) if passed is not None else None
        by_slug[slug] = ExerciseState(slug, state, number, passed_at, due, best)
    return by_slug
