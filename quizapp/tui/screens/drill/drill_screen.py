"""Drill: one card at a time, revealed, rated, saved."""

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from quizapp.errors import AnsweredElsewhere, QuizError
from quizapp.scheduling.views import CardFilter
from quizapp.tui import actions, terminal
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.card_text import PreparedCard, facts_text, question_text
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.drill import card_acts
from quizapp.tui.screens.drill.attempt import Attempt
from quizapp.tui.screens.drill.card_acts import ActResult
from quizapp.tui.screens.drill.card_feed import CardFeed
from quizapp.tui.screens.drill.card_view import CardView
from quizapp.tui.screens.drill.drill_end import DrillEnd
from quizapp.tui.screens.drill.session_summary import DrillSession
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.rating_bar import RatingBar
from quizapp.tui.widgets.row_list import RowList
from quizapp.tui.widgets.session_bar import SessionBar

PREPARE_AFTER_S = 0.03  # by then the current card is on the screen


class DrillScreen(Place):
    """Shows, reveals and rates cards. ``flt`` narrows the queue; ``limit`` is a maximum of answers."""

    place = "drill"
    BINDINGS: ClassVar[list[object]] = actions.bindings("drill")  # type: ignore[assignment]
    CSS_PATH = "drill_screen.tcss"

    def __init__(
        self,
        flt: CardFilter | None = None,
        *,
        topic: str = "",
        level: str = "",
        kind: str = "",
        limit: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        flt = flt or CardFilter(topic=topic, level=level, kind=kind)
        self.feed = CardFeed(flt, lambda sentence: self.quiz.say(sentence, bad=True))
        self.limit = limit
        self.clock = clock
        self.session = DrillSession(clock())
        self.attempt: Attempt | None = None
        self._phase = Phase.EMPTY

    def body(self) -> ComposeResult:
        """The card, the end of the session, the ratings."""
        yield SessionBar()
        with ContentSwitcher(initial="card", id="switch"):
            yield CardView()
            yield DrillEnd()
        yield RatingBar(id="ratings")

    @property
    def card(self) -> PreparedCard | None:
        """The card on the screen; None at the end and before the data is open."""
        return self.attempt.card if self.attempt is not None else None

    @property
    def view(self) -> CardView:
        """The widget of the card."""
        return self.query_one(CardView)

    def on_mount(self) -> None:
        """Start with an empty card; the first one comes when the data is open."""
        self.query_one("#ratings").display = False
        self.query_one(SessionBar).follow(lambda: self.clock() - self.session.started)
        if self.quiz.ready:
            self.next()
        else:
            self.view.show_notice("Opening the questions…")

    def opened(self) -> None:
        """The data is open."""
        if self.attempt is None:
            self.next()

    returned = opened  # from an exercise or a search: a card stays; at the end there may be new ones

    def on_unmount(self) -> None:
        """Nothing to save: every rating is on disk."""
        self.attempt = None
        self.feed.clear()
        self._fit_weights()

    def _fit_weights(self) -> None:
        """Fit the memory model if cards were answered since the last fit."""
        if self.session.done > self.session.fitted:
            from quizapp.tui.bridges.weights_bridge import session_ended

            self.session.fitted = self.session.done
            session_ended(self.quiz)

    # showing cards

    def next(self) -> None:
        """Show the next card of the queue, or the end."""
        card = None if self.session.is_over(self.limit) else self.feed.next(self.quiz.study)
        if card is None:
            self._finish()
        else:
            self.show(card)

    def show(self, card: PreparedCard) -> None:
        """Put a card on the screen, unanswered."""
        self.attempt = Attempt(card, self.clock())
        with self.app.batch_update():
            self.query_one("#switch", ContentSwitcher).current = "card"
            self.query_one("#ratings").display = False
            self.view.show(card)
            self.enter_phase(Phase(card.kind))
            self._show_bar(card)
        if self.quiz.study.changed(card.id):
            self.quiz.say("This question has changed since you last saw it; T starts it again as new.")
        self.set_timer(PREPARE_AFTER_S, self._prepare_ahead)

    def _prepare_ahead(self) -> None:
        if self.card is not None and self.is_attached:
            width = self.query_one("#prompt").content_size.width or 76
            self.feed.prepare_ahead(self.quiz.study, self.card, width)

    def _show_bar(self, card: PreparedCard) -> None:
        session, study = self.session, self.quiz.study
        left = session.left(study, self.feed.flt, self.limit)
        self.query_one(SessionBar).show(session.done, session.right, left, session.about(study, card))

    def _finish(self) -> None:
        self.attempt = None
        self.feed.clear()
        with self.app.batch_update():
            self.set_focus(None)
            self.query_one("#ratings").display = False
            self.query_one("#switch", ContentSwitcher).current = "end"
            over = self.session.is_over(self.limit)
            self.query_one(DrillEnd).show(self.quiz.study, self.session, self.feed.flt, self.clock(), over)
            self.query_one(SessionBar).stop(self.session.done, self.session.right)
            self.enter_phase(Phase.DONE if self.session.done else Phase.EMPTY)
        self._fit_weights()

    def action_more(self) -> None:
        """Show more cards than the daily limit allows, or look again if there are none."""
        self._widen("more")

    def action_ahead(self) -> None:
        """Study cards that fall due within a week."""
        self._widen("ahead")

    def action_related(self) -> None:
        """Show the cards that were kept apart."""
        self._widen("related")

    def _widen(self, way: str) -> None:
        self.limit = None
        self.feed.flt = self.query_one(DrillEnd).wider(self.quiz.study, self.feed.flt, way)
        self.next()
        if self.card is None:
            self.quiz.say("Still nothing is due.")

    # answering

    def action_type(self) -> None:
        """Go to the field of the card, or open one for an answer in one's own words."""
        if (card := self.card) is None:
            return
        if card.kind != "recall":
            self.view.focus_field()
        elif self.quiz.study.settings.typed_answers:
            self.view.open_answer_box(card)
        else:
            self.quiz.say("Typed answers are switched off in the settings.")

    def action_leave_field(self) -> None:
        """Leave the field; its text stays."""
        self.set_focus(None)

    def on_number_field_given(self) -> None:
        """Enter in the field of a number."""
        self.action_reveal()

    def on_cloze_given(self) -> None:
        """Enter in the last gap."""
        self.action_reveal()

    def action_pick(self, position: int) -> None:
        """Answer with an option."""
        if self.attempt is not None and self.phase == Phase.CHOICE and position < self.options:
            self.attempt.position = position
            self.action_reveal()

    def action_choose(self) -> None:
        """Answer with the option under the cursor; if the cursor was not moved, nothing was chosen."""
        choice = self.query_one(Choice)
        if choice.moved:
            self.action_pick(choice.cursor)
        else:
            self.action_reveal()

    def action_dont_know(self) -> None:
        """Show the answer to a learner who says that they do not know it."""
        if self.attempt is not None:
            self.attempt.unknown = True
            self.action_reveal()

    @on(RowList.Picked, "#choice")
    def _option_clicked(self, event: RowList.Picked) -> None:
        self.action_pick(event.place)

    def action_reveal(self) -> None:
        """Show the answer; ask for the confidence in an answer first if the settings say so."""
        attempt = self.attempt
        if attempt is None:
            return
        if self.phase == Phase.TYPING:
            self.set_focus(None)
        answered = attempt.position is not None if attempt.card.kind == "choice" else self.view.is_answered
        attempt.skipped = attempt.card.kind != "recall" and not answered
        attempt.revealed_after = self.clock() - attempt.shown_at
        asks = self.quiz.study.settings.confidence and not (attempt.skipped or attempt.unknown)
        if asks and attempt.confidence is None:
            self.view.hide_aside()
            self.view.show_note("How sure are you, from 1 (not at all) to 5 (certain)?", "$primary")
            self.enter_phase(Phase.CONFIDENCE)
            return
        self._reveal(attempt)

    action_check = action_look = action_reveal

    def action_confide(self, percent: int) -> None:
        """Store the confidence and reveal the answer."""
        if self.attempt is not None:
            self.attempt.confidence = percent
            self._reveal(self.attempt)

    def _reveal(self, attempt: Attempt) -> None:
        card = attempt.card
        with self.app.batch_update():
            self.view.show_note("", "")
            if attempt.skipped or (attempt.unknown and card.kind != "recall"):
                attempt.mark = self.view.mark_unanswered(card)
            elif card.kind != "recall":
                attempt.mark = self.view.mark(card, attempt.position)
            self.view.reveal(card, attempt.mark)
            to_tick = card.kind == "recall" and card.question.key_points
            self.enter_phase(Phase.POINTS if to_tick else Phase.ANSWER)
            self._propose(attempt)
            self.query_one("#ratings").display = True

    def action_follow_up(self) -> None:
        """Ask what an interviewer asks next, then show its answer."""
        if self.card is not None and self.card.question.follow_ups:
            self.view.next_follow_up(self.card)
        else:
            self.quiz.say("This question has no follow-up.")

    # rating

    def _propose(self, attempt: Attempt) -> None:
        """Show a proposed rating on the buttons, with the interval that each of them promises."""
        attempt.propose(self.view.ticks)
        proposal, previews = attempt.proposal, self.quiz.study.previews(attempt.card.id)
        intervals = {int(rating): preview.text for rating, preview in previews.items()}
        rating, reason = (int(proposal.rating), proposal.reason) if proposal else (0, "")
        self.query_one(RatingBar).show(intervals, rating, reason)

    def on_key_points_ticked(self) -> None:
        """Propose a rating again after a tick has changed."""
        if self.attempt is not None:
            self._propose(self.attempt)

    def action_take(self) -> None:
        """Rate as proposed. Where nothing is proposed, the learner has to say how it went."""
        if self.attempt is None:
            return
        if self.attempt.proposal is not None:
            self.action_rate(int(self.attempt.proposal.rating))
        else:
            self.quiz.say(self.attempt.rating_request)

    def action_rate(self, rating: int) -> None:
        """Write the rating; it is on disk before the next card is drawn."""
        attempt = self.attempt
        if attempt is None or self.phase not in actions.ANSWER:
            return
        study, view = self.quiz.study, self.view
        try:
            review = attempt.record(study, rating, self.clock(), ticks=view.ticks, typed=view.typed)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            if isinstance(error, AnsweredElsewhere):
                self.next()
            return
        self.session.add(attempt.card, review, view.typed)
        if review.leech:
            self.quiz.say("You keep forgetting this card: read its answer again, or rewrite the question.")
        self.next()

    # moving and ticking

    def offers(self, act: actions.Act) -> bool:
        """Offer follow-ups if there are some, and to accept what is proposed."""
        if act.action == "follow_up":
            return self.card is not None and bool(self.card.question.follow_ups)
        if act.action in {"more", "ahead", "related"}:
            return self.query_one(DrillEnd).offers(act.action)
        if act.action == "take":
            return self.attempt is not None and self.attempt.proposal is not None
        return super().offers(act)

    @property
    def options(self) -> int:
        """How many options the card has."""
        return len(self.card.order) if self.card is not None and self.card.kind == "choice" else 0

    def scroller(self) -> Widget:
        """The card."""
        return self.view

    def move(self, step: int) -> None:
        """Move to the next row of the card's list, or scroll."""
        if self.phase in (Phase.CHOICE, Phase.ORDER, Phase.POINTS):  # each has its list
            self.query_one(f"#{self.phase}", RowList).move_or_scroll(step, self.view)
        else:
            super().move(step)

    def action_lift(self, step: int) -> None:
        """Move a step of an order question."""
        self.query_one(Order).lift(step)

    def action_tick(self) -> None:
        """Tick the key point under the cursor."""
        self.query_one(KeyPoints).toggle()

    def action_tick_all(self) -> None:
        """Tick all or none."""
        self.query_one(KeyPoints).toggle_all()

    # what else can be done with the card

    def _show_result(self, result: ActResult | None) -> None:
        """Say what an act did, and show the card that follows from it."""
        if result is None:
            return
        self.quiz.say(result.notice, bad=result.failed)
        if result.again:
            self.view.keep_draft(result.again, (result.typed,))
            card = self.feed.again(self.quiz.study, result.again)
            self.show(card) if card is not None else self.next()
        elif result.leave:
            self.next()
        elif self.card is not None:
            self._show_bar(self.card)

    def action_treat_as_new(self) -> None:
        """Begin a changed question again as new."""
        self._show_result(card_acts.treat_as_new(self.quiz.study, self.card))

    def action_bury(self) -> None:
        """Put the card off until tomorrow."""
        self._show_result(card_acts.bury(self.quiz.study, self.card))

    def action_suspend(self) -> None:
        """Take the card out of the queue."""
        self._show_result(card_acts.suspend(self.quiz.study, self.card))

    def action_flag(self) -> None:
        """Flag the card, or remove its flag."""
        self._show_result(card_acts.flag(self.quiz.study, self.card))

    def action_undo(self) -> None:
        """Undo the last action and show its card again."""
        self._show_result(card_acts.undo(self.quiz.study, self.session))

    def action_redo(self) -> None:
        """Redo what was undone."""
        self._show_result(card_acts.redo(self.quiz.study))

    def action_exercise(self) -> None:
        """Open the exercise of the card; closing it comes back here."""
        if self.card is not None:
            self.quiz.open_exercise(self.card.question.exercise)

    def action_facts(self) -> None:
        """Stability, due date and history."""
        if self.card is not None:
            study = self.quiz.study
            self.quiz.read(self.card.id, facts_text(study.card(self.card.id), study.clock.now()))

    def action_source(self) -> None:
        """Open the question's file in the editor."""
        if self.card is not None:
            terminal.open_source(self.quiz, self.card.question.file, self.card.question.line)

    def action_copy(self) -> None:
        """Copy question and answer."""
        if self.card is not None:
            terminal.copy_text(self.quiz, question_text(self.card.question, self.card.seed))

    def action_search(self) -> None:
        """Search all questions."""
        self.quiz.go("browse")
