"""A running mock interview, what it shows: the clock above, one question below, nothing revealed."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from quizapp.bank.answers import gaps
from quizapp.interview.session.question import CONFIDENCE, INCIDENT, OPEN, Item, question_of
from quizapp.tui import actions
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.incidents.running import IncidentPart
from quizapp.tui.screens.interview.coding import CodingPart
from quizapp.tui.screens.interview.time_up import TimeUp
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.clock_bar import ClockBar
from quizapp.tui.widgets.fields import Cloze, ClozeText, Number
from quizapp.tui.widgets.order import Order
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock, plural

if TYPE_CHECKING:
    from quizapp.interview.service import Interview

TICK = 0.2
SAID = {
    "mark-50": "Half of the time for this question is used.",
    "mark-90": "Nine tenths of the time for this question are used.",
    "lost": "The terminal was away; the clock went on.",
    "last": "No other question of this phase is open.",
}
CUT = "What you wrote stands and counts; the next opens now."
OVER = "The interview is over; now you mark your answers."
RUN_OVER = "The time for this run is over; now you mark your answer."
SURE = ((0, "0 %"), (25, "25 %"), (50, "50 %"), (75, "75 %"), (100, "100 %"))
UNTYPED = {"confidence", "brief", "wrap", "coding", *actions.INCIDENT, "predict"}
"""Phases that hold whatever field has the focus."""


class Asking(Place):
    """``interview`` has begun; the screen ticks it and shows what is in hand."""

    place = "mockrun"
    CSS_PATH = "running.tcss"

    def __init__(self, interview: "Interview") -> None:
        super().__init__()
        self.interview = interview
        self.session = interview.session
        self.code = CodingPart(self)
        self.case = IncidentPart(self)
        self._shown: tuple[object, ...] = ()
        self._phase = "brief"
        self._over = self._left = False

    @property
    def parts(self) -> dict[str, CodingPart | IncidentPart]:
        """What takes the whole screen, by kind of item."""
        return {"coding": self.code, INCIDENT: self.case}

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
            yield from self.case.compose()

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
        self.collect()
        self.heard(self.interview.tick())
        if self.interview.taken:
            self._leave_taken()
            return
        if self.session.ended:
            self.quiz.push_screen(TimeUp(RUN_OVER if self.interview.alone else OVER))
            return
        self.query_one(ClockBar).refresh()

    def heard(self, said: list[str]) -> None:
        """Say what the clock did, and show what is in hand now."""
        for word in said:
            if word in SAID:
                self.quiz.notify(SAID[word], timeout=3, markup=False)
        self._sync()
        if "cut" in said and "lost" not in said and not self._over:
            self._close_dialogs()
            self.quiz.push_screen(TimeUp(CUT))

    def collect(self) -> None:
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
        elif item.state == OPEN and item.kind == INCIDENT:
            self.case.collect(item)

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
        wide = item.kind if item is not None and item.state == OPEN and item.kind in self.parts else ""
        with self.app.batch_update():
            self.query_one("#switch", ContentSwitcher).current = wide or "talk"
            self.set_focus(None)
            for name in ("#earlier", "#plain", "#typed", "#work", "#sure"):
                self.query_one(name).display = False
            if item is None:
                self._show_between()
            elif item.state == CONFIDENCE:
                self._show_confidence(item)
            elif item.probe is not None:
                self._show_probe(item)
            elif wide:
                self.parts[wide].show(item)
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
        rest = clock(self.session.now.seconds)
        return (
            f"{done} of {len(states)} answered. "
            f"enter ends the interview; left alone, it ends after the {rest} of the wrap-up. "
            "Then the key points are shown and you mark your answers."
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
        return self._phase if self._phase in UNTYPED else super().phase

    def scroller(self) -> Widget:
        """The question, the task of a coding item, or the pane of an incident."""
        if self._phase in actions.INCIDENT:
            return self.case.scroller()
        return self.query_one("#pane-task" if self._phase == "coding" else "#talk")

    def _finish(self) -> None:
        if self._over:
            return
        self._over = True
        from quizapp.tui.screens.interview.marking import MarkScreen

        self.interview.save()
        self.quiz.grader.cancel()
        if self.interview.taken:
            self._leave_taken()
            return
        self.interview.propose()
        self._close_dialogs()
        self.quiz.switch_screen(MarkScreen(self.interview))

    def _leave_taken(self) -> None:
        """Another window has it now: its clock and its answers are there."""
        if self._left:
            return
        self._over = self._left = True
        self._close_dialogs()
        self.quiz.say(self.interview.taken, bad=True)
        self.quiz.go_back(self)

    def _close_dialogs(self) -> None:
        """What was asked over this screen was about a question that is closed now."""
        stack = self.app.screen_stack
        while self in stack and self.app.screen is not self:
            self.app.pop_screen()
