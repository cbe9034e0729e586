"""Statistics for screens and ``stats --json``, computed from cards and reviews."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from quizapp.scheduling.cards import REVIEW, STATE_NAMES, CardRow, Rating, ReviewRow
from quizapp.scheduling.study_day import as_date, as_datetime
from quizapp.scheduling.views import (
    CalibrationBin,
    CardFacts,
    CardFilter,
    GroupFigures,
    PastReview,
    StudyStatistics,
    TopicProgress,
)

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

WEAK = 0.80  # mean retrievability below which a topic is called weak
BINS = 10
LONGEST_ANSWER_S = 3600
"""What an answer counts at most in the minutes of a day, because somebody may have left the screen open."""


def card_facts(study: "Study", row: CardRow) -> CardFacts:
    """State, memory and history of one card."""
    seen = row.state > 0
    now = study.now()
    return CardFacts(
        row.card,
        STATE_NAMES[row.state],
        as_datetime(row.due) if seen else None,
        row.stability if seen else None,
        row.difficulty if seen else None,
        study.recall_of(row, now) if seen else None,
        row.reps,
        row.lapses,
        bool(row.suspended),
        row.buried >= now.day,
        bool(row.flagged),
        study.is_leech(row),
        tuple(_review(review) for review in study.store.tables.reviews(card=row.card)),
    )


def _review(row: ReviewRow) -> PastReview:
    return PastReview(
        as_datetime(row.time),
        Rating(row.rating),
        STATE_NAMES[row.state],
        row.elapsed,
        timedelta(seconds=row.interval),
        row.ms / 1000,
        row.source,
    )


def topics(study: "Study") -> list[TopicProgress]:
    """Progress by topic, in the order of the bank."""
    rows = {row.card: row for row in study.store.tables.cards()}
    now = study.now()
    waiting = Counter((card.topic, card.state == "new") for card in study.due())
    members: dict[str, list[str]] = {slug: [] for slug in study.bank.topics}
    for question in study.bank.questions.values():
        members.setdefault(question.topic, []).append(question.id)
    progress = []
    for slug, ids in members.items():
        topic = study.bank.topics.get(slug)
        seen = [rows[name] for name in ids if name in rows and rows[name].state > 0]
        recall = sum(study.recall_of(row, now) for row in seen) / len(seen) if seen else None
        progress.append(
            TopicProgress(
                slug,
                topic.name if topic else slug,
                len(ids),
                sum(row.state == REVIEW for row in seen),
                len(seen),
                waiting[slug, False],
                waiting[slug, True],
                recall,
                recall is not None and recall < WEAK,
            )
        )
    return progress


def reviews_by_time(study: "Study") -> list[ReviewRow]:
    """All reviews that were not undone, oldest first, whichever device they come from."""
    return sorted(study.store.tables.reviews(), key=lambda review: (review.time, review.seq))


def compute(study: "Study", forecast_days: int) -> StudyStatistics:
    """Statistics over all reviews that were not undone."""
    from quizapp.scheduling.weights.fit import last_fit

    today = study.now().day
    reviews = study.store.tables.reviews()
    rows = [row for row in study.store.tables.cards() if row.card in study.bank.questions]
    # A second review on the same day, or in a learning step, says nothing about long-term memory.
    graduated = [review for review in reviews if review.state == REVIEW and review.elapsed > 0]
    counts = study.counts(CardFilter())
    days = sorted(study.store.tables.study_days())
    return StudyStatistics(
        reviews=len(reviews),
        due=counts.waiting,
        new=counts.new,
        learned=sum(row.state == REVIEW for row in rows),
        seen=sum(row.state > 0 for row in rows),
        retention=_retention(graduated),
        predicted=_mean([review.predicted or 0.0 for review in graduated]),
        seconds=sum(review.ms for review in reviews) / 1000,
        streak=streak(study),
        calibration=calibration(graduated),
        forecast=_forecast(rows, today, forecast_days),
        per_day=tuple((as_date(day), number) for day, number in days),
        ratings={rating.name.lower(): sum(r.rating == rating for r in reviews) for rating in Rating},
        topics=_groups(study, rows, reviews, "topic"),
        levels=_groups(study, rows, reviews, "level"),
        sources=dict(Counter(review.source for review in reviews)),
        model=study.model,
        comparison=last_fit(study)[1],
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _retention(reviews: Sequence[ReviewRow]) -> float | None:
    return _mean([float(review.rating > 1) for review in reviews])


def calibration(reviews: Iterable[ReviewRow]) -> tuple[CalibrationBin, ...]:
    """Predicted against actual recall in ten equal bins of the prediction, without empty bins."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for review in reviews:
        if review.predicted is not None:
            index = min(int(review.predicted * BINS), BINS - 1)
            bins.setdefault(index, []).append((review.predicted, review.rating > 1))
    return tuple(
        CalibrationBin(
            index / BINS,
            (index + 1) / BINS,
            len(pairs),
            sum(predicted for predicted, _ in pairs) / len(pairs),
            sum(recalled for _, recalled in pairs) / len(pairs),
        )
        for index, pairs in sorted(bins.items())
    )


def _forecast(rows: Iterable[CardRow], today: int, days: int) -> tuple[tuple[date, int], ...]:
    waiting = Counter(max(row.due_day, today) for row in rows if row.state > 0 and not row.suspended)
    return tuple((as_date(day), waiting[day]) for day in range(today, today + days))


def _groups(
    study: "Study", rows: Iterable[CardRow], reviews: Iterable[ReviewRow], by: str
) -> Mapping[str, GroupFigures]:
    where = {name: str(getattr(question, by)) for name, question in study.bank.questions.items()}
    total = Counter(where.values())
    seen = Counter(where[row.card] for row in rows if row.state > 0)
    learned = Counter(where[row.card] for row in rows if row.state == REVIEW)
    done: dict[str, list[ReviewRow]] = {}
    for review in reviews:
        if review.card in where:
            done.setdefault(where[review.card], []).append(review)
    return {
        name: GroupFigures(
            total[name],
            seen[name],
            learned[name],
            len(done.get(name, ())),
            _retention([r for r in done.get(name, ()) if r.state == REVIEW and r.elapsed > 0]),
        )
        for name in total
    }


def streak(study: "Study") -> int:
    """The number of consecutive study days with a review, up to today or yesterday."""
    today = study.now().day
    studied = {day for day, _ in study.store.tables.study_days()}
    day = today if today in studied else today - 1  # today may still be to come
    length = 0
    while day in studied:
        length += 1
        day -= 1
    return length


def minutes_on(study: "Study", day: int) -> float:
    """The minutes that the answers of a study day took, exercises and interviews among them."""
    reviews = study.store.tables.reviews(since=day)
    return sum(min(review.ms / 1000, LONGEST_ANSWER_S) for review in reviews if review.day == day) / 60


def calendar(study: "Study", length: int) -> list[tuple[date, int]]:
    """(date, reviews) of the last ``length`` study days, oldest first, today last."""
    today = study.now().day
    done = dict(study.store.tables.study_days())
    return [(as_date(day), done.get(day, 0)) for day in range(today - length + 1, today + 1)]
