"""One attempt at a card, from the moment it is shown to its rating."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quizapp.bank.answers import Mark
from quizapp.scheduling.cards import LONGEST_ANSWER_S, Rating
from quizapp.tui.rendering.card_text import PreparedCard

if TYPE_CHECKING:
    from quizapp.scheduling.rating_rules import Proposal
    from quizapp.scheduling.service import Study
    from quizapp.scheduling.views import RecordedReview


@dataclass(slots=True)
class Attempt:
    """The state of an answer to a card. Times are seconds on the screen's clock."""

    card: PreparedCard
    shown_at: float
    revealed_after: float = 0.0
    position: int | None = None
    """The chosen option, counted from 0 in display order."""
    confidence: int | None = None
    """In percent, where it was asked."""
    unknown: bool = False
    """Whether the learner said that the answer is unknown to them."""
    skipped: bool = False
    """Whether the answer was shown before anything was answered in the card's field."""
    mark: Mark | None = None
    proposal: "Proposal | None" = None

    def propose(self, ticks: Sequence[int]) -> None:
        """Propose a rating from the mark, or from the key points that are ticked.

        There is no proposal where the learner only looked: what they knew is theirs to say.
        """
        from quizapp.scheduling.rating_rules import propose_mark, propose_recall  # after the first frame

        points = self.card.question.key_points
        if self.mark is None:
            self.proposal = propose_recall(points, ticks, unknown=self.unknown)
        elif self.unknown or not self.skipped:
            self.proposal = propose_mark(self.mark, self.revealed_after, 0)

    @property
    def rating_request(self) -> str:
        """What to ask of a learner who accepts a rating where none is proposed."""
        if self.card.kind == "recall" and self.card.question.key_points:
            return "Tick what you said, or rate yourself with 1 to 4."
        if self.card.kind == "recall":
            return "Compare your answer with this one, and rate yourself with 1 to 4."
        return "You only looked, so no rating is proposed: rate yourself with 1 to 4."

    def record(
        self, study: "Study", rating: int, now: float, *, ticks: Sequence[int], typed: str
    ) -> "RecordedReview":
        """Write the rating; it is on disk when this returns. Raises `QuizError`."""
        return study.answer(
            self.card.id,
            Rating(rating),
            proposed=self.proposal.rating if self.proposal else None,
            seconds=min(LONGEST_ANSWER_S, now - self.shown_at),
            ticks=ticks if self.card.kind == "recall" else (),
            seed=self.card.seed,
            confidence=self.confidence,
            typed=typed,
            source="drill",
            as_shown=True,
        )
