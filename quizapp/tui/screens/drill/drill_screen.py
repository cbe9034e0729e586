"""Drill: one card at a time, revealed, rated, saved; here the keys that move and act on the card."""

from collections.abc import Callable
from typing import Any, ClassVar

from quizapp.errors import QuizError
from quizapp.tui import actions, terminal
from quizapp.tui.rendering.card_text import facts_text, question_text
from quizapp.tui.screens.drill.answering import DrillAnswer
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.row_list import RowList


class DrillScreen(DrillAnswer):
    """``flt`` narrows the queue; ``limit`` ends the session after so many answers."""

    place = "drill"
    BINDINGS: ClassVar[list[object]] = actions.bindings("drill")  # type: ignore[assignment]
    CSS_PATH = "drill_screen.tcss"

    def offers(self, act: actions.Act) -> bool:
        """A card without follow-ups does not offer them."""
        question = self.card.question if self.card is not None else None
        return act.action != "follow_up" or (question is not None and bool(question.follow_ups))

    # moving and ticking

    def action_leave_field(self) -> None:
        """Leave the field; its text stays."""
        self.set_focus(None)

    def _list(self) -> RowList | None:
        if self.phase in {"choice", "order"}:
            return self.query_one(f"#{self.phase}", RowList)
        return self.query_one(KeyPoints) if self.phase == "points" else None

    def move(self, step: int) -> None:
        """To the next line of the list, or scroll."""
        rows = self._list()
        if rows is None:
            super().move(step)
        else:
            rows.move_or_scroll(step, self.scroller())

    def action_lift(self, step: int) -> None:
        """Move a step of an order question."""
        self.query_one(Order).lift(step)

    def action_tick(self) -> None:
        """Tick the key point under the cursor."""
        self.query_one(KeyPoints).toggle()

    def action_tick_all(self) -> None:
        """Tick all or none."""
        self.query_one(KeyPoints).toggle_all()

    # acts on the card

    def _act(self, act: Callable[[str], Any], said: str, *, leave: bool) -> None:
        card = self.card
        if card is None:
            return
        try:
            act(card.id)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.quiz.say(said)
        if leave:
            self.next()
        else:
            self._bar()

    def action_treat_as_new(self) -> None:
        """Begin a changed question again as new."""
        card = self.card
        if card is None or not self.quiz.study.changed(card.id):
            self.quiz.say("This question has not changed since you last saw it.")
            return
        self.quiz.study.acknowledge(card.id, treat_as_new=True)
        self._show_again(card.id)

    def action_bury(self) -> None:
        """Put the card off until tomorrow."""
        self._act(self.quiz.study.bury, "Put off until tomorrow; u takes it back.", leave=True)

    def action_suspend(self) -> None:
        """Take the card out of the queue."""
        self._act(self.quiz.study.suspend, "Suspended; u takes it back.", leave=True)

    def action_flag(self) -> None:
        """Flag the card, or remove its flag."""
        card = self.card
        if card is not None:
            flagged = self.quiz.study.card(card.id).flagged
            act = self.quiz.study.unflag if flagged else self.quiz.study.flag
            self._act(act, "Flag removed." if flagged else "Flagged.", leave=False)

    def action_undo(self) -> None:
        """Take back the last act and show its card again."""
        undone = self.quiz.study.undo()
        if undone is None:
            self.quiz.say("Nothing to undo.")
            return
        self.session.undo(undone.card)
        self.quiz.say(f"Undone: {undone.type}.")
        self._show_again(undone.card)

    def action_redo(self) -> None:
        """Take back the undo."""
        redone = self.quiz.study.redo()
        if redone is None:
            self.quiz.say("Nothing to redo.")
            return
        self.quiz.say(f"Done again: {redone.type} of {redone.card}.")
        self.next()

    def _show_again(self, card_id: str) -> None:
        from quizapp.scheduling.views import DueCard

        question = self.quiz.bank.questions.get(card_id)
        if question is None:
            self.next()
            return
        facts = self.quiz.study.card(card_id)
        due = DueCard(card_id, question.kind, question.level, question.topic, facts.due, facts.state)
        card = self._prepare(due)
        if card is not None:
            self.show(card)

    def action_facts(self) -> None:
        """Stability, due date and history."""
        if self.card is not None:
            study = self.quiz.study
            self.quiz.read(self.card.id, facts_text(study.card(self.card.id), study.clock.now()))

    def action_source(self) -> None:
        """Open the question's file in the editor."""
        from quizapp.tui.terminal import open_source

        if self.card is not None:
            open_source(self.quiz, self.card.question.file, self.card.question.line)

    def action_copy(self) -> None:
        """Copy question and answer."""
        if self.card is not None:
            terminal.copy_text(self.quiz, question_text(self.card.question, self.card.seed))

    def action_search(self) -> None:
        """Search all questions."""
        self.quiz.go("browse")
