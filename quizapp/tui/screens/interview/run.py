"""A running mock interview: what can be done with the question in hand."""

from time import monotonic
from typing import ClassVar

from textual import events
from textual.widgets import TextArea

from quizapp.interview.session.question import INCIDENT, OPEN
from quizapp.tui import actions
from quizapp.tui.screens.interview.running import Asking
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.diagnosis import DiagnosisForm
from quizapp.tui.widgets.order import Order
from quizapp.tui.widgets.readings import Readings
from quizapp.util.sanitize import one_line

WRITE = {
    "readings": "f3 is where you write; here you take readings.",
    "diagnosis": "f3 is where you write; here you choose and tick.",
    "coding": "f3 is where you write the code, f4 where you explain it.",
}
"""What letters are told in a pane that takes none."""
SAID_FOR_S = 3.0


class RunScreen(Asking):
    """Every action freezes, moves or ends something, and is on disk before its effect is shown."""

    BINDINGS: ClassVar[list[object]] = actions.bindings("mockrun")  # type: ignore[assignment]

    def offers(self, act: actions.Act) -> bool:
        """Another question only where there is one."""
        return not self.interview.alone or act.action not in {"skip", "return_to"}

    _told_at = -SAID_FOR_S

    def on_key(self, event: events.Key) -> None:
        """Letters that no field and no action takes: say where the fields are, once in a while."""
        known = any(event.key in act.key_list() for act in actions.live(self.place, self.phase))
        typed = event.is_printable and event.key != "space"
        if self.focused is not None or known or not typed or self.phase not in WRITE:
            return
        if monotonic() - self._told_at >= SAID_FOR_S:
            self._told_at = monotonic()
            self.quiz.say(WRITE[self.phase])

    def _act(self, said: list[str]) -> None:
        self.interview.save()
        self.heard(said)

    def action_proceed(self) -> None:
        """Leave the brief, or end after the wrap-up."""
        self._act(self.session.proceed())

    def action_answer(self) -> None:
        """Freeze the answer or the follow-up in hand."""
        self.collect()
        item = self.session.item
        if item is not None and item.kind == INCIDENT and item.state == OPEN and not self.case.ready(item):
            return
        if item is not None and item.state == OPEN and item.kind == "choice":
            choice = self.query_one(Choice)
            self.session.give(choice.order[choice.cursor])
        elif item is not None and item.state == OPEN and item.kind == "order":
            self.session.give(list(self.query_one(Order).sequence))
        self._act(self.session.submit())

    action_answer_here = action_answer

    def on_number_given(self) -> None:
        """Enter in the number's field."""
        self.action_answer()

    def on_cloze_given(self) -> None:
        """Enter in the last gap."""
        self.action_answer()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Words count from the first key."""
        event.stop()
        self.collect()

    def action_pick(self, position: int) -> None:
        """Answer with an option."""
        choice = self.query_one(Choice)
        if position < len(choice.order):
            choice.move(position - choice.cursor)
            self.action_answer()

    def on_choice_picked(self, event: Choice.Picked) -> None:
        """A click moves to an option; on the chosen one it answers."""
        choice = self.query_one(Choice)
        if self.phase != "choice":
            return
        if choice.cursor == event.position:
            self.action_answer()
        else:
            choice.move(event.position - choice.cursor)

    def action_confide(self, percent: int) -> None:
        """How sure; then what comes next."""
        self._act(self.session.confide(percent))

    def action_skip(self) -> None:
        """Put the question aside."""
        self.collect()
        self._act(self.session.skip())

    def action_return_to(self) -> None:
        """Choose among the open questions of the phase."""
        from quizapp.tui.screens.choose import Choose

        open_items = [i for i in self.session.in_phase() if self.session.can_open(i.number)]
        if not open_items:
            self.quiz.say("No other question of this phase is open.")
            return
        entries = [(str(i.number), f"{one_line(i.question['prompt'])[:70]}") for i in open_items]

        def chosen(value: str | None) -> None:
            if value:
                self.collect()
                self._act(self.session.open(int(value)))

        self.quiz.push_screen(Choose("Which question?", entries), chosen)

    def action_end(self) -> None:
        """End early, once confirmed."""
        from quizapp.tui.screens.choose import Choose

        what = "run" if self.interview.alone else "interview"
        entries = [("no", "No, go on"), ("yes", f"End the {what} and mark it")]

        def chosen(way: str | None) -> None:
            if way == "yes":
                self.collect()
                self._act(self.session.end("early"))

        self.quiz.push_screen(Choose(f"End the {what} now?", entries), chosen)

    def action_back(self) -> None:
        """Leave: the interview goes on by the clock and can be resumed."""
        self.collect()
        self.interview.save()
        self._over = True
        self.quiz.say("The clock goes on; r resumes.")
        self.quiz.go_back(self)

    def action_lift(self, step: int) -> None:
        """Move a step."""
        order = self.query_one(Order)
        order.lift(step)
        self.session.give(list(order.sequence))

    def move(self, step: int) -> None:
        """To the next line of a list, or scroll."""
        if self.phase == "choice":
            self.query_one(Choice).move(step)
        elif self.phase == "order":
            self.query_one(Order).move(step)
        elif self.phase in {"readings", "diagnosis"}:
            self.case.move(step)
        else:
            self.scroller().scroll_relative(y=step, animate=False)

    def action_pane(self, name: str) -> None:
        """A pane of the coding item."""
        self.code.go(name)

    def action_check(self) -> None:
        """Run the learner's own check."""
        self.code.check()

    def action_judge(self) -> None:
        """Submit the code to the judge."""
        self.code.submit()

    def action_edit(self) -> None:
        """Hand the code to the learner's editor."""
        self.code.edit()

    # incidents

    def action_case(self, name: str) -> None:
        """A pane of the incident."""
        self.case.go(name)

    def action_buy(self) -> None:
        """Ask for the reading under the cursor: first say how it ends."""
        self.case.ask()

    def action_predict(self, number: int) -> None:
        """Say how the reading ends; then it is paid and shown."""
        self.case.predict(number)

    def action_unask(self) -> None:
        """Do not take the reading."""
        self.case.go("run")

    def on_readings_picked(self, event: Readings.Picked) -> None:
        """A click on a reading."""
        self.case.pick("run", event.place)

    def on_diagnosis_form_picked(self, event: DiagnosisForm.Picked) -> None:
        """A click on a line of the diagnosis."""
        self.case.pick("diagnosis", event.place)

    def action_choose(self) -> None:
        """Choose for the line of the diagnosis under the cursor."""
        self.case.choose()

    def action_hint(self) -> None:
        """A hint, once its price is accepted."""
        self.case.hint()
