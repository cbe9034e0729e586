"""A running mock interview: the clock above, one question below, nothing revealed."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static, TextArea

from quizapp.bank.marking import gaps
from quizapp.interview.item import CONFIDENCE, OPEN, Item, question_of
from quizapp.tui import keys
from quizapp.tui.markdown import Document
from quizapp.tui.screens import mockkeys
from quizapp.tui.screens.mockcode import CodingPart
from quizapp.tui.screens.place import Place
from quizapp.tui.text import clock, one_line, plural
from quizapp.tui.widgets.answerbox import AnswerBox
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.clockbar import ClockBar
from quizapp.tui.widgets.fields import Cloze, ClozeText, Number
from quizapp.tui.widgets.order import Order

if TYPE_CHECKING:
    from quizapp.interview.interview import Interview

assert mockkeys
WORK = ("numeric", "choice", "order", "cloze")
TICK = 0.2
SAID = {
    "mark-50": "Half of the time for this question is used.",
    "mark-90": "Nine tenths of the time for this question are used.",
    "cut": "Time is up for this question; what stands counts.",
    "lost": "The terminal was away; the clock went on.",
    "last": "No other question of this phase is open.",
}
SURE = ((0, "0 %"), (25, "25 %"), (50, "50 %"), (75, "75 %"), (100, "100 %"))


class RunScreen(Place):
    """``interview`` has begun; the screen ticks it and shows what is in hand."""

    place = "mockrun"
    BINDINGS: ClassVar[list[object]] = keys.bindings("mockrun")  # type: ignore[assignment]
    CSS_PATH = "mockrun.tcss"

    def __init__(self, interview: "Interview") -> None:
        super().__init__()
        self.interview = interview
        self.session = interview.session
        self.code = CodingPart(self)
        self._shown: tuple[object, ...] = ()
        self._phase = "brief"
        self._over = False

    def body(self) -> ComposeResult:
        """The clock, then talk or code."""
        yield ClockBar()
        with ContentSwitcher(initial="talk", id="switch"):
            with VerticalScroll(id="talk", can_focus=False), Container(id="column"):
                yield Static("", id="earlier", classes="muted", markup=False)
                yield Static("", id="prompt", markup=False)
                yield Static("", id="plain", markup=False)
                yield AnswerBox(id="typed")
                with ContentSwitcher(id="work"):
                    yield Number(id="numeric")
                    yield Choice(id="choice")
                    yield Order(id="order")
                    yield Cloze(id="cloze")
                yield Static("", id="sure", markup=False)
            yield from self.code.compose()

    def on_mount(self) -> None:
        """Begin to tick."""
        self.query_one("#sure").auto_links = False
        self.query_one(ClockBar).session = self.session
        self.set_interval(TICK, self.tick)
        self._sync()

    # the clock

    def tick(self) -> None:
        """Take what is typed, let the clock catch up, show what changed."""
        if self._over:
            return
        self._collect()
        self.heard(self.interview.tick())
        self.query_one(ClockBar).refresh()

    def heard(self, said: list[str]) -> None:
        """Say what the clock did, and show what is in hand now."""
        for word in said:
            if word in SAID:
                self.quiz.notify(SAID[word], timeout=3, markup=False)
        self._sync()

    def _collect(self) -> None:
        """What stands in the fields belongs to the session before the clock moves."""
        item = self.session.item
        if item is None or self._key() != self._shown:
            return
        if item.probe is not None or (item.state == OPEN and item.kind == "recall"):
            text = self.query_one("#typed", AnswerBox).text
            if text != (item.probe.typed if item.probe else item.typed):
                self.session.type(text)
        elif item.state == OPEN and item.kind == "numeric":
            text = self.query_one("#numeric Input", Input).value
            if text != (item.given or ""):
                self.session.give(text)
        elif item.state == OPEN and item.kind == "cloze":
            answers = list(self.query_one(Cloze).answers)
            if answers != (item.given or [""] * len(answers)):
                self.session.give(answers if any(answers) else None)
        elif item.state == OPEN and item.kind == "coding":
            self.code.collect(item)

    def _key(self) -> tuple[object, ...]:
        item = self.session.item
        if item is None:
            return (self.session.phase, None)
        probe = item.probe
        return (self.session.phase, item.number, item.state, item.probes.index(probe) if probe else -1)

    # showing

    def _sync(self) -> None:
        """Show what is in hand, if that changed."""
        if self.session.ended:
            self._finish()
            return
        key = self._key()
        if key == self._shown:
            return
        self._shown = key
        item = self.session.item
        coding = item is not None and item.kind == "coding" and item.state == OPEN
        with self.app.batch_update():
            self.query_one("#switch", ContentSwitcher).current = "coding" if coding else "talk"
            self.set_focus(None)
            for name in ("#earlier", "#plain", "#typed", "#work", "#sure"):
                self.query_one(name).display = False
            if item is None:
                self._show_between()
            elif item.state == CONFIDENCE:
                self._show_confidence(item)
            elif item.probe is not None:
                self._show_probe(item)
            elif coding:
                self.enter_phase("coding")
                self.code.show(item)
            else:
                self._show_question(item)
            self.query_one("#talk").scroll_home(animate=False)

    def _show_between(self) -> None:
        """The brief and the wrap-up."""
        session = self.session
        first = session.phase == 0
        head = self.interview.head
        title = f"{head['title']}, {head['minutes']} minutes" if first else "That was the last question"
        self.query_one("#prompt", Static).update(Document(title))
        plain = self.query_one("#plain", Static)
        plain.update(Document(self._brief() if first else self._wrap()))
        plain.display = True
        self.enter_phase("brief" if first else "wrap")

    def _brief(self) -> str:
        session = self.session
        phases = "\n".join(
            f"- {p.title}: {clock(p.seconds)}, {plural(len(session.in_phase(i)), 'question')}"
            for i, p in enumerate(session.phases)
            if session.in_phase(i)
        )
        return (
            f"{phases}\n\n"
            "Answer in your own words, as you would say it. ctrl+r freezes an answer; then say how sure you "
            "are. ctrl+n puts a question aside until its phase ends. A question is cut at one and a half of "
            "its time. Nothing is revealed before the end.\n\nenter begins."
        )

    def _wrap(self) -> str:
        states = [item.state for item in self.session.items]
        done = sum(state in {"frozen", "cut"} for state in states)
        return (
            f"{done} of {len(states)} answered. "
            "enter ends the interview; then the key points are shown and you mark your answers."
        )

    def _show_question(self, item: Item) -> None:
        prompt = self.query_one("#prompt", Static)
        prompt.update(Document(item.question["prompt"]))
        if item.kind == "recall":
            self._show_box(item.typed)
            self.enter_phase("idle")
            return
        work = self.query_one("#work", ContentSwitcher)
        work.display = True
        work.current = item.kind
        question = question_of(item)
        if item.kind == "numeric":
            self.query_one(Number).show(question.unit)
            field = self.query_one("#numeric Input", Input)
            field.value = str(item.given or "")
            field.focus()
        elif item.kind == "choice":
            self.query_one(Choice).show(question.options, item.question["order"])
        elif item.kind == "order":
            self.query_one(Order).show(question.steps, item.given or item.question["order"])
        else:
            cloze = self.query_one(Cloze)
            cloze.show(question.text, len(gaps(question)))
            if item.given:
                text = cloze.query_one(ClozeText)
                text.answers = list(item.given)
                cloze.query_one(Input).value = item.given[0]
                text.changed()
            cloze.query_one(Input).focus()
        self.enter_phase(item.kind if item.kind in {"choice", "order"} else "idle")

    def _show_box(self, text: str) -> None:
        box = self.query_one("#typed", AnswerBox)
        box.show(())  # no key points: nothing may light up before the end
        box.load_text(text)
        box.move_cursor(box.document.end)
        box.display = True
        box.focus()

    def _show_probe(self, item: Item) -> None:
        assert item.probe is not None
        earlier = self.query_one("#earlier", Static)
        earlier.update(Content(f"After “{one_line(item.question['prompt'])[:120]}”"))
        earlier.display = True
        self.query_one("#prompt", Static).update(Document(item.probe.ask))
        self._show_box(item.probe.typed)
        self.enter_phase("idle")

    def _show_confidence(self, item: Item) -> None:
        title = item.question.get("title") or item.question["prompt"]
        self.query_one("#prompt", Static).update(Document(title))
        sure = self.query_one("#sure", Static)
        parts = [Content.styled("How sure are you of this answer?", "bold $primary"), Content("")]
        row: list[Content] = []
        for number, (percent, text) in enumerate(SURE, 1):
            cell = Content.assemble((f" {number} ", "bold $primary"), (f"{text} ", "bold"))
            link = Style.from_meta({"@click": f"screen.confide({percent})"})
            row.append(cell.stylize(link, 0, len(cell.plain)))
        parts.append(Content("  ").join(row))
        sure.update(Content("\n").join(parts))
        sure.display = True
        self.enter_phase("confidence")

    @property
    def phase(self) -> str:
        """A focused field counts as typing, but not while something else is asked."""
        return self._phase if self._phase in {"confidence", "brief", "wrap", "coding"} else super().phase

    def scroller(self) -> Widget:
        """The question."""
        return self.query_one("#talk")

    # acting

    def _act(self, said: list[str]) -> None:
        self.interview.save()
        self.heard(said)

    def action_proceed(self) -> None:
        """Leave the brief, or end after the wrap-up."""
        self._act(self.session.proceed())

    def action_answer(self) -> None:
        """Freeze the answer or the follow-up in hand."""
        self._collect()
        item = self.session.item
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
        self._collect()

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
        self._collect()
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
                self._collect()
                self._act(self.session.open(int(value)))

        self.quiz.push_screen(Choose("Which question?", entries), chosen)

    def action_end(self) -> None:
        """End early, once confirmed."""
        from quizapp.tui.screens.choose import Choose

        entries = [("no", "No, go on"), ("yes", "End the interview and mark it")]

        def chosen(way: str | None) -> None:
            if way == "yes":
                self._collect()
                self._act(self.session.end("early"))

        self.quiz.push_screen(Choose("End the interview now?", entries), chosen)

    def action_back(self) -> None:
        """Leave: the interview goes on by the clock and can be resumed."""
        self._collect()
        self.interview.save()
        self._over = True
        self.quiz.say("The clock goes on; r resumes.")
        self.quiz.go_back()

    def action_lift(self, step: int) -> None:
        """Move a step."""
        order = self.query_one(Order)
        order.lift(step)
        self.session.give(list(order.sequence))

    def _step(self, step: int) -> None:
        if self.phase == "choice":
            self.query_one(Choice).move(step)
        elif self.phase == "order":
            self.query_one(Order).move(step)
        else:
            self.query_one("#talk").scroll_relative(y=step, animate=False)

    def action_up(self) -> None:
        """Up in the list, or scroll."""
        self._step(-1)

    def action_down(self) -> None:
        """Down in the list, or scroll."""
        self._step(1)

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

    def _finish(self) -> None:
        if self._over:
            return
        self._over = True
        from quizapp.tui.screens.mockmark import MarkScreen

        self.interview.save()
        self.quiz.grader.cancel()
        self.interview.propose()
        self.quiz.switch_screen(MarkScreen(self.interview))
