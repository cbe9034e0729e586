"""Feeds the drill from the schedule's queue, and prepares the next card ahead of time."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.scheduling.views import CardFilter, DueCard
from quizapp.tui.rendering.card_text import PreparedCard, prepare_card

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


class CardFeed:
    """Prepares the cards of a filtered queue. ``report`` receives a sentence if a card cannot be shown."""

    def __init__(self, flt: CardFilter, report: Callable[[str], None]) -> None:
        self.flt = flt
        self._report = report
        self._ahead: PreparedCard | None = None

    def next(self, study: "Study") -> PreparedCard | None:
        """The card to show now; None if nothing is due. Cards that cannot be shown are skipped."""
        while (due := study.next_card(self.flt)) is not None:
            ahead, self._ahead = self._ahead, None
            card = ahead if ahead is not None and ahead.id == due.id else self._prepare(study, due)
            if card is not None:
                return card
        return None

    def again(self, study: "Study", card_id: str) -> PreparedCard | None:
        """A card to show again, such as after an undo; None if it cannot be shown."""
        question = study.bank.questions.get(card_id)
        if question is None:
            return None
        facts = study.card(card_id)
        return self._prepare(
            study, DueCard(card_id, question.kind, question.level, question.topic, facts.due, facts.state)
        )

    def prepare_ahead(self, study: "Study", current: PreparedCard, width: int) -> None:
        """Prepare the card after ``current`` while the learner thinks."""
        current.lay_out(width)
        due = study.next_card(self.flt, after={current.id})
        if due is not None and (self._ahead is None or self._ahead.id != due.id):
            self._ahead = self._prepare(study, due)
            if self._ahead is not None:
                self._ahead.lay_out(width)

    def clear(self) -> None:
        """Discard the prepared card."""
        self._ahead = None

    def _prepare(self, study: "Study", due: "DueCard") -> PreparedCard | None:
        try:
            card = prepare_card(study.bank, due, study.seed(due.id))
        except QuizError as error:
            reason = str(error)
        else:
            if card is not None:
                return card
            reason = "the bank no longer has it."
        # The deck is at fault, so the card is skipped and nothing about it is logged.
        if study.leave_out(due.id):
            self._report(f"{due.id} is left out: {reason}")
        return None
