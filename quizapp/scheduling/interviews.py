"""Mock interviews and the schedule: marks and their reviews, stored together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quizapp.errors import QuizError
from quizapp.scheduling.events import MOCK_MARK, RECALL, Draft, Event, new_id
from quizapp.scheduling.rating import Rating

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


class MockReview(NamedTuple):
    """A review that a mock interview makes of a card.

    ``caps`` are the longest intervals in days for the reviews that follow (confident and wrong: 1, 7).
    ``source`` is mock or incident; the other fields are those of ``Study.answer``.
    """

    card: str
    rating: Rating
    proposed: Rating | None = None
    seconds: float = 0.0
    hints: int = 0
    ticks: tuple[int, ...] = ()
    seed: int | None = None
    confidence: int | None = None
    caps: tuple[int, ...] = ()
    source: str = "mock"


def record(
    study: "Study",
    document: Mapping[str, Any],
    reviews: Sequence[MockReview],
    recalls: Sequence[str],
    mock_id: str,
    sitting: str = "",
) -> tuple[str, list[tuple[Event, int]]]:
    """Document, mark, reviews and recalls in one transaction; the id and the reviews with lapses before."""
    now = study.now()
    names = [study.resolve(review.card) for review in reviews]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise QuizError(f"A mock interview makes one review of a card, not two of {min(twice)}.")
    parent = new_id()
    with study.store.transaction():
        saved = study.store.documents.save_mock(
            document, now.time, mock_id=mock_id, state="done", event=parent, sitting=sitting
        )
        drafts = [Draft(MOCK_MARK, now, id=parent, source="mock", data={"mock": saved})]
        lapses = {}
        for name, review in zip(names, reviews, strict=True):
            row = study.store.card(name)
            lapses[name] = row.lapses if row else 0
            drafts.append(
                study.draft_answer(
                    name,
                    review.rating,
                    now,
                    seconds=review.seconds,
                    proposed=int(review.proposed) if review.proposed is not None else None,
                    hints=review.hints,
                    ticks=review.ticks,
                    seed=review.seed,
                    confidence=review.confidence,
                    source=review.source,
                    parent=parent,
                    data={"caps": list(review.caps)} if review.caps else None,
                )
            )
        reviewed = set(names)
        later = [name for name in map(study.resolve, recalls) if name not in reviewed]
        drafts += [
            Draft(RECALL, now, card=name, source="mock", parent=parent) for name in dict.fromkeys(later)
        ]
        events = study.store.append(*drafts)
    made = [(event, lapses[event.card]) for event in events if event.rating is not None]
    return saved, made
