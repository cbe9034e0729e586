"""Verdicts: what a submission does to the schedule of its exercise and its questions."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from quizapp.scheduling.cards import NEW, REVIEW, CardRow
from quizapp.scheduling.events import CREDIT, RECALL, VERDICT, Draft, Event, Moment, new_id
from quizapp.scheduling.rating_rules import Proposal, propose_verdict
from quizapp.scheduling.reducer import EXERCISE
from quizapp.scheduling.study_day import as_datetime
from quizapp.scheduling.views import ExerciseState

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


def record(
    study: "Study",
    slug: str,
    verdict: Mapping[str, Any],
    source: str,
    submissions: int,
    hints: int,
    opened_solution: bool,
    seconds: float,
) -> tuple[Event, int] | None:
    """Append the verdict and what follows in one transaction; the review and the lapses before it."""
    name = study.resolve(EXERCISE + slug)
    now = study.now()
    passed = bool(verdict.get("passed"))
    budget = study.bank.exercises[slug].minutes * 60
    event_id = new_id()
    with study.store.transaction():
        row = study.store.card(name) or CardRow(name)
        proposal = propose_verdict(passed, submissions, hints, opened_solution, seconds, budget)
        rated = proposal is not None and _counts(row, now, proposal)
        details = {
            "status": str(verdict.get("status", "")),
            "passed": passed,
            "submissions": submissions,
            "opened_solution": opened_solution,
        }
        common: dict[str, Any] = {"hints": hints, "source": "exercise", "id": event_id}
        if rated and proposal:
            draft = study.draft_answer(
                name,
                proposal.rating,
                now,
                kind=VERDICT,
                seconds=seconds,
                proposed=int(proposal.rating),
                data=details,
                **common,
            )
        else:
            draft = Draft(VERDICT, now, card=name, ms=round(seconds * 1000), data=details, **common)
        linked = _linked(study, slug, now, event_id, opened_solution) if rated else []
        event, *_ = study.store.append(draft, *linked)
        study.store.documents.add_submission(slug, now.time, verdict, source, event_id)
    return (event, row.lapses) if rated else None


def _counts(row: CardRow, now: Moment, proposal: Proposal) -> bool:
    """Whether a verdict is a review: the first, or one when the exercise is due again, not every save."""
    if row.state == NEW or row.due_day <= now.day:
        return True
    # the solution opened before the exercise is due shows that it was forgotten, once a day
    return proposal.rating == 1 and row.last_day < now.day


def _linked(study: "Study", slug: str, now: Moment, parent: str, recall: bool) -> list[Draft]:
    """Events for the exercise's questions: recalled for tomorrow, or credited with a day's rest."""
    drafts = []
    for question in study.bank.questions.values():
        if question.exercise != slug:
            continue
        row = study.store.card(question.id)
        if row and row.state == REVIEW and (recall or row.due_day <= now.day):
            drafts.append(Draft(RECALL if recall else CREDIT, now, card=question.id, parent=parent))
    return drafts


def states(study: "Study", slugs: Iterable[str]) -> dict[str, ExerciseState]:
    """The states of exercises by slug."""
    summary = study.store.documents.summary()
    today = study.now().day
    found = {}
    for slug in slugs:
        number, passed, best = summary.get(slug, (0, None, 0.0))
        row = study.store.card(EXERCISE + slug)
        scheduled = row is not None and row.state != NEW
        if row and scheduled and row.due_day <= today:
            state = "due"
        elif passed is not None:
            state = "passed"
        else:
            state = "started" if number or scheduled else "new"
        due = as_datetime(row.due) if row and scheduled else None
        passed_at = as_datetime(passed) if passed is not None else None
        found[slug] = ExerciseState(slug, state, number, passed_at, due, best)
    return found
