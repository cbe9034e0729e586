"""The facade of the schedule: what commands and screens ask and tell."""

import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from quizapp.scheduling import exercises, interviews, statistics
from quizapp.scheduling.acts import Acts
from quizapp.scheduling.cards import CardRow
from quizapp.scheduling.events import SETTINGS, Draft
from quizapp.scheduling.fsrs import DEFAULT_WEIGHTS, MODEL
from quizapp.scheduling.interviews import MockReview
from quizapp.scheduling.reducer import EXERCISE
from quizapp.scheduling.views import Answered, CardFacts, ExerciseState, Stats, TopicProgress
from quizapp.store.documents import MockDocument, Submission

if TYPE_CHECKING:
    from quizapp.scheduling.weights.fit import Fitted


class Study(Acts):
    """A learner's schedule over a bank. What a method reports as done is on disk."""

    # exercises and mock interviews

    def record_verdict(
        self,
        slug: str,
        verdict: Mapping[str, Any],
        *,
        source_text: str,
        submissions: int = 1,
        hints: int = 0,
        opened_solution: bool = False,
        seconds: float = 0.0,
    ) -> Answered | None:
        """Keep a submission and let its verdict schedule the exercise; the review if it was one.

        ``submissions``, ``hints`` and ``seconds`` count since the exercise was taken up. Passed: rated by
        effort, and its questions that are due soon wait until tomorrow. Solution opened: Again, and its
        questions come tomorrow. Not passed: kept, not rated. Passing once more before it is due is kept only.
        """
        found = exercises.record(
            self, slug, verdict, source_text, submissions, hints, opened_solution, seconds
        )
        self._stale()
        return self._answered(found[0], found[1], self._row(EXERCISE + slug)) if found else None

    def exercise_state(self, slug: str) -> ExerciseState:
        """How far an exercise is. Raises ``UnknownName``."""
        self.resolve(EXERCISE + slug)
        return exercises.states(self, [slug])[slug]

    def exercise_states(self) -> dict[str, ExerciseState]:
        """The states of all exercises by slug."""
        return exercises.states(self, self.bank.exercises)

    def submissions(self, slug: str) -> list[Submission]:
        """All submissions for an exercise, oldest first."""
        return self.store.documents.submissions(slug)

    def save_mock(self, session: Mapping[str, Any] | str, *, mock_id: str = "", sitting: str = "") -> str:
        """Autosave a running mock interview (a JSON document); its id.

        Raises ``TakenOver`` where it is finished, or where ``sitting`` is not the one stored.
        """
        document = json.loads(session) if isinstance(session, str) else session
        return self.store.documents.save_mock(document, self.now().time, mock_id=mock_id, sitting=sitting)

    def mock(self, mock_id: str) -> MockDocument | None:
        """A saved mock interview."""
        return self.store.documents.mock(mock_id)

    def mocks(self, state: str = "") -> list[MockDocument]:
        """Saved mock interviews, newest first; ``state`` is running, done or undone."""
        return self.store.documents.mocks(state)

    def record_mock(
        self,
        session: Mapping[str, Any] | str,
        reviews: Iterable[MockReview] = (),
        *,
        recalls: Iterable[str] = (),
        mock_id: str = "",
        sitting: str = "",
    ) -> tuple[str, list[Answered]]:
        """Finish a mock interview: document, mark and reviews in one transaction; one undo removes all.

        ``recalls`` are cards that come first tomorrow without a review (not reached, follow-up missed).
        Returns the id of the interview and the reviews. Raises ``UnknownName``, ``QuizError`` for two
        reviews of one card, ``TakenOver`` where it is finished already or sat in another window.
        """
        document = json.loads(session) if isinstance(session, str) else session
        name, made = interviews.record(self, document, list(reviews), list(recalls), mock_id, sitting)
        self._stale()
        return name, [self._answered(event, lapses, self._row(event.card)) for event, lapses in made]

    # facts for screens

    def card(self, card_id: str) -> CardFacts:
        """All about one card. Raises ``UnknownName``."""
        name = self.resolve(card_id)
        return statistics.card_facts(self, self._row(name))

    def retrievability(self, card_id: str) -> float | None:
        """The chance of recalling a card now; None before its first review."""
        row = self._row(self.resolve(card_id))
        return self.recall_of(row, self.now().day) if row.state else None

    def recall_of(self, row: CardRow, day: int) -> float:
        """The retrievability of a row on a study day."""
        return self._fold.scheduler.retrievability(row.stability, day - row.last_day)

    def topics(self) -> list[TopicProgress]:
        """Progress by topic, in the order of the bank."""
        return statistics.topics(self)

    def stats(self, forecast_days: int = 30) -> Stats:
        """Figures over all reviews that stand."""
        return statistics.compute(self, forecast_days)

    def streak(self) -> int:
        """Study days in a row with a review, up to today or yesterday."""
        return statistics.streak(self.store.study_days(), self.now().day)

    def calendar(self, days: int) -> list[tuple[date, int]]:
        """(date, reviews) of the last ``days`` study days, oldest first, today last."""
        return statistics.calendar(self.store.study_days(), self.now().day, days)

    def is_leech(self, row: CardRow) -> bool:
        """Whether a card has lapsed too often."""
        return row.lapses >= self.settings.leech_lapses

    @property
    def model(self) -> str:
        """Name and version of the memory model in force."""
        return self._fold.scheduler.version

    @property
    def caring(self) -> bool:
        """Whether the backup or check in the background still runs."""
        return self.store.care.busy

    @property
    def warning(self) -> str:
        """A sentence about the backup or check in the background, if something was wrong."""
        return self.store.care.warning

    def fit_weights(self, *, least: int = 400) -> "Fitted":
        """Fit the weights to the learner's own reviews and take them if they predict better.

        ``least`` is the number of reviews on later days that it takes. Imports torch, or
        ``fsrs-rs-python`` where that is installed; takes seconds. Due dates that were promised stay.
        """
        from quizapp.scheduling.weights import fit

        found = fit.fit(self, least=least)
        self._stale()
        return found

    def reset_weights(self) -> None:
        """Go back to the weights that FSRS-6 comes with."""
        details = {"model": MODEL, "weights": list(DEFAULT_WEIGHTS)}
        self.store.append(Draft(SETTINGS, self.now(), model=self.model, data=details))
        self._stale()
