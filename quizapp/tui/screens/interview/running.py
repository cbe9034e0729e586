"""A running mock interview: the clock above, one question below, and nothing revealed before the end."""

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import ContentSwitcher, TextArea

from quizapp.interview.session.flow import SessionEvent
from quizapp.interview.session.question import CODING, CONFIDENCE, INCIDENT, OPEN, REVIEW
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.incidents.running import IncidentView
from quizapp.tui.screens.interview.coding import CodingView
from quizapp.tui.screens.interview.dialogs import (
    CUT,
    NOTICES,
    OVER,
    WHERE_TO_WRITE,
    ask_about_empty,
    ask_to_end,
    choose_question,
    close_dialogs_over,
)
from quizapp.tui.screens.interview.question_view import QuestionView
from quizapp.tui.screens.interview.review_view import ReviewView
from quizapp.tui.screens.interview.time_up import TimeUp
from quizapp.tui.widgets.clock_bar import ClockBar
from quizapp.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from quizapp.interview.service import Interview

TICK_S = 0.2
HINT_EVERY_S = 3.0


class RunScreen(Place):
    """Runs the clock of an interview and shows the current question in the view for its kind.

    Every action is on disk before its effect is shown.
    """

    place = "mockrun"
    BINDINGS: ClassVar[list[object]] = actions.bindings("mockrun")  # type: ignore[assignment]
    CSS_PATH = "styles/running.tcss"

    def __init__(self, interview: "Interview") -> None:
        super().__init__()
        self.interview = interview
        self.session = interview.session
        self.question = QuestionView(interview, id="talk")
        self.coding = CodingView(interview, id="coding")
        self.incident = IncidentView(interview, id="incident")
        self.review = ReviewView(interview, id="review")
        self._views: Mapping[str, CodingView | IncidentView | ReviewView] = {
            CODING: self.coding,
            INCIDENT: self.incident,
            REVIEW: self.review,
        }
        self._shown: tuple[object, ...] = ()
        self._phase = Phase.BRIEF
        self._over = self._left = False
        self._hinted_at = -HINT_EVERY_S

    def body(self) -> ComposeResult:
        """The clock, then one of the views."""
        yield ClockBar()
        with ContentSwitcher(initial="talk", id="switch"):
            yield self.question
            yield from self._views.values()

    def on_mount(self) -> None:
        """Start to tick."""
        self.query_one(ClockBar).session = self.session
        self.set_interval(TICK_S, self.tick)
        self._sync()

    @property
    def phase(self) -> Phase | None:
        """The current phase; a focused field counts as typing except in the phases of `actions.UNTYPED`."""
        return self._phase if self._phase in actions.UNTYPED else super().phase

    # the clock

    def tick(self) -> None:
        """Collect the typed text, advance the clock, and show what changed."""
        if self._over:
            return
        self.collect()
        self.incident.desk.tick()
        self.react(self.interview.tick())
        if self.interview.taken:
            self._leave_taken()
            return
        if self.session.ended:
            self.quiz.push_screen(TimeUp(OVER.format(self.interview.form.noun)))
            return
        self.query_one(ClockBar).keep_up()

    def react(self, happened: Sequence[SessionEvent]) -> None:
        """Report what the clock or an action did, and show what is in hand now."""
        before = self._shown
        self._sync()
        if self._shown != before:
            # A notice about the previous question would seem to be about the current one.
            self.quiz.clear_notifications()
        for event in happened:
            if event in NOTICES:
                self.quiz.notify(NOTICES[event], timeout=3, markup=False)
        if "cut" in happened and "lost" not in happened and not self._over:
            close_dialogs_over(self)
            self.quiz.push_screen(TimeUp(CUT))

    def collect(self) -> None:
        """Pass the typed text to the session, which needs it before the clock moves on."""
        item = self.session.item
        if item is None or self.in_hand() != self._shown:
            return
        if item.state == OPEN and item.kind in self._views:
            self._views[item.kind].collect(item)
        else:
            self.question.collect(item)

    # showing

    def in_hand(self) -> tuple[object, ...]:
        """A key of what the screen shows; it changes when something else has to be shown."""
        item = self.session.item
        if item is None:
            return (self.session.phase, None)
        follow_up = item.open_follow_up
        return (
            self.session.phase,
            item.number,
            item.state,
            item.follow_ups.index(follow_up) if follow_up else -1,
        )

    def _sync(self) -> None:
        """Show what is in hand, if that changed."""
        if self.session.ended:
            self._finish()
            return
        in_hand = self.in_hand()
        if in_hand == self._shown:
            return
        self._shown = in_hand
        with self.app.batch_update():
            self.set_focus(None)
            self.question.clear()
            self.enter_phase(self._show())

    def _show(self) -> Phase:
        """Show what is in hand in the view for it; returns the phase."""
        item = self.session.item
        view: Widget = self.question
        if item is None:
            phase = self.question.show_between()
        elif item.state == CONFIDENCE:
            phase = self.question.show_confidence(item)
        elif item.open_follow_up is not None:
            phase = self.question.show_follow_up(item)
        elif item.kind in self._views:
            view, phase = self._views[item.kind], self._views[item.kind].show(item)
            if item.kind != INCIDENT:
                self.quiz.warm_judge()
        else:
            phase = self.question.show_question(item)
        self.query_one("#switch", ContentSwitcher).current = view.id
        return phase

    def scroller(self) -> Widget:
        """The question, the task of a coding question, or the pane of an incident."""
        if self._phase in actions.INCIDENT:
            return self.incident.scroller()
        if self._phase in actions.REVIEWING:
            return self.review.scroller()
        return self.query_one("#pane-task") if self._phase == Phase.CODING else self.question.scroller

    # leaving

    def _finish(self) -> None:
        if self._over:
            return
        self._over = True
        from quizapp.tui.screens.interview.marking import MarkScreen

        self.interview.save()
        self.quiz.judge.cancel()
        self.incident.desk.close()
        self.quiz.clear_notifications()
        if self.interview.taken:
            self._leave_taken()
            return
        self.interview.propose()
        close_dialogs_over(self)
        self.quiz.switch_screen(MarkScreen(self.interview))

    def _leave_taken(self) -> None:
        """Leave, because another window has taken over the interview."""
        if self._left:
            return
        self._over = self._left = True
        close_dialogs_over(self)
        self.quiz.say(self.interview.taken, bad=True)
        self.quiz.go_back(self)

    def closing(self) -> None:
        """Save what was typed, because the program ends."""
        self.collect()
        self.interview.save()
        self.incident.desk.close()

    def action_back(self) -> None:
        """Leave the screen; the clock keeps running, and the interview can be resumed."""
        self.closing()
        self._over = True
        self.quiz.say("The clock keeps running; it can be resumed.")
        self.quiz.go_back(self)

    # acting

    def offers(self, act: actions.Act) -> bool:
        """Offer another question only where there can be one."""
        another = self.interview.form.has_total or act.action not in {"skip", "return_to"}
        return another and self.incident.offers(act.action) and super().offers(act)

    def label_of(self, act: actions.Act) -> str:
        """A live incident is handed in, not answered."""
        live = self.session.item is not None and self.session.item.live is not None
        return "hand in" if live and act.action == "answer" else super().label_of(act)

    @property
    def options(self) -> int:
        """How many options the question on the screen has."""
        item = self.interview.session.item
        return len(item.display_order) if item is not None and item.kind == "choice" else 0

    def on_key(self, event: events.Key) -> None:
        """Say where the fields are if letters reach neither a field nor an action, but not too often."""
        bound = any(event.key in act.key_list() for act in actions.live(self.place, self.phase))
        letter = event.is_printable and event.key != "space"
        if self.focused is not None or bound or not letter or self.phase not in WHERE_TO_WRITE:
            return
        if monotonic() - self._hinted_at >= HINT_EVERY_S:
            self._hinted_at = monotonic()
            self.quiz.say(WHERE_TO_WRITE[self.phase])

    def save_and_react(self, happened: Sequence[SessionEvent]) -> None:
        """Store what an action changed, then show it."""
        self.interview.save()
        self.react(happened)

    def action_proceed(self) -> None:
        """Leave the brief, or end after the wrap-up."""
        self.save_and_react(self.session.proceed())

    def action_answer(self) -> None:
        """Freeze the answer or the follow-up in hand."""
        self.collect()
        item = self.session.item
        if item is not None and item.state == OPEN:
            if item.kind == INCIDENT and not self.incident.ready(item):
                return
            if item.kind == "choice" and (self.question.choice.moved or item.has_given):
                self.session.give(self.question.choice.order[self.question.choice.cursor])
        if item is not None and item.nothing_given and item.kind != INCIDENT:  # that form asks by itself
            ask_about_empty(self, item)
        elif item is not None and item.kind == REVIEW:  # no confidence comes after it, so it asks by itself
            self.review.ask_to_hand_in()
        else:
            self.save_and_react(self.session.submit())

    def action_revise(self) -> None:
        """Change the answer that was just frozen, until the confidence is given."""
        self.save_and_react(self.session.revise())

    action_answer_here = action_answer

    def on_number_field_given(self) -> None:
        """Enter in the field of a number, or in the last gap."""
        self.action_answer()

    on_cloze_given = on_number_field_given

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Words count from the first key."""
        event.stop()
        self.collect()

    def action_pick(self, position: int) -> None:
        """Answer with an option; it can be changed until the confidence is given."""
        choice = self.question.choice
        if position < len(choice.order):
            choice.move(position - choice.cursor)
            self.session.give(choice.order[position])
            self.action_answer()

    @on(RowList.Picked, "#choice")
    def _option_clicked(self, event: RowList.Picked) -> None:
        """A click moves to an option; on the chosen one it answers."""
        choice = self.question.choice
        if self.phase != Phase.CHOICE:
            return
        if choice.cursor == event.place:
            self.session.give(choice.order[event.place])
            self.action_answer()
        else:
            choice.move(event.place - choice.cursor)

    def action_lift(self, step: int) -> None:
        """Move a step."""
        order = self.question.order
        order.lift(step)
        self.session.give(list(order.sequence))

    def action_confide(self, percent: int) -> None:
        """Say how sure, then go on."""
        self.save_and_react(self.session.confide(percent))

    def action_skip(self) -> None:
        """Put the question aside."""
        self.collect()
        self.save_and_react(self.session.skip())

    def action_return_to(self) -> None:
        """Choose among the open questions of the phase."""
        choose_question(self)

    def action_end(self) -> None:
        """End early or discard, once confirmed."""
        self.collect()
        ask_to_end(self)

    def discard(self) -> None:
        """Leave without a trace."""
        self.interview.discard()
        self._leave_taken()

    def move(self, step: int) -> None:
        """To the next line of a list, or scroll."""
        if self.phase == Phase.CHOICE:
            self.question.choice.move(step)
        elif self.phase == Phase.ORDER:
            self.question.order.move(step)
        elif self.phase in {Phase.READINGS, Phase.DIAGNOSIS, Phase.LOG}:
            self.incident.move(step)
        elif self._phase in actions.REVIEWING:
            self.review.move(step)
        else:
            self.scroller().scroll_relative(y=step, animate=False)

    # code reviews

    def action_review(self, name: str, percent: int = 0) -> None:
        """Do something that only a code review has."""
        self.review.act(name, percent)

    def action_at(self, line: int) -> None:
        """A click on a line of the code to review."""
        self.review.move_to(line)

    # code

    def action_pane(self, name: str) -> None:
        """Show a pane of the coding question."""
        self.coding.go(name)

    def action_check(self) -> None:
        """Run the learner's own check, or the test of a code review."""
        if self._phase in actions.REVIEWING:
            self.review.run_test()
        else:
            self.coding.check()

    def action_judge(self) -> None:
        """Submit the code to the judge."""
        self.coding.submit()

    def action_edit(self) -> None:
        """Hand the code or the script to the learner's editor."""
        if self._phase == Phase.SCRIPT:
            self.incident.desk.edit_outside()
        else:
            self.coding.edit()

    # incidents

    def action_case(self, name: str) -> None:
        """Show a pane of the incident."""
        self.incident.go(name)

    def action_live(self, name: str) -> None:
        """Do something that only a live incident has."""
        self.incident.live(name)

    def action_buy(self) -> None:
        """Ask for the reading under the cursor; first the learner says how it ends."""
        self.incident.ask()

    def action_predict(self, number: int) -> None:
        """Say how the reading ends; then it is paid for and shown."""
        self.incident.predict(number)

    def action_unask(self) -> None:
        """Leave the reading."""
        self.incident.go("run")

    def action_choose(self) -> None:
        """Choose for the line of the diagnosis under the cursor."""
        self.incident.choose()

    def action_hint(self) -> None:
        """Show a hint, once its price is accepted."""
        self.incident.hint()
