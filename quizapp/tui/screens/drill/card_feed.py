"""Where the drill's cards come from: the schedule's queue, with the next card prepared ahead of time."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.scheduling.views import CardFilter, DueCard
from quizapp.tui.rendering.card_text import PreparedCard, prepare_card

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


class CardFeed:
    """Prepares cards of a filtered queue; ``report`` takes a sentence about a card that cannot be shown."""

    def __init__(self, flt: CardFilter, report: Callable[[str], None]) -> None:
        self.flt = flt
        self._report = report
        self._ahead: PreparedCard | None = None

    def next(self, study: "Study") -> PreparedCard | None:
        """The card to show now; None when nothing is due. Cards that cannot be shown are passed over."""
        while (due := study.next_card(self.flt)) is not None:
            ahead, self._ahead = self._ahead, None
            card = ahead if ahead is not None and ahead.id == due.id else self._prepare(study, due)
            if card is not None:
                return card
        return None

    def again(self, study: "Study", card_id: str) -> PreparedCard | None:
        """A card that was answered or set aside, after an undo; None where it cannot be shown."""
        question = study.bank.questions.get(card_id)
        if question is None:
            return None
        facts = study.card(card_id)
        return self._prepare(
            study, DueCard(card_id, question.kind, question.level, question.topic, facts.due, facts.state)
        )

    def prepare_ahead(self, study: "Study", current: PreparedCard, width: int) -> None:
        """Prepare what comes after ``current`` while the person thinks about it."""
        current.lay_out(width)
        due = study.next_card(self.flt, after={current.id})
        if due is not None and (self._ahead is None or self._ahead.id != due.id):
            self._ahead = self._prepare(study, due)
            if self._ahead is not None:
                self._ahead.lay_out(width)

    def clear(self) -> None:
        """Forget what was prepared."""
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
        # The fault is the deck's: the card is passed over, and nothing about it is logged.
        if study.leave_out(due.id):
            self._report(f"{due.id} is left out: {reason}")
        return None
