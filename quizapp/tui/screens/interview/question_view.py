"""A question of a running interview, its follow-ups, and the texts before and after all questions."""

from collections.abc import Mapping
from textwrap import shorten
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import ContentSwitcher, Input, Static

from quizapp.bank.answers import gaps
from quizapp.interview import RoundName
from quizapp.interview.session.make_question import bank_question
from quizapp.interview.session.question import ESTIMATE, INCIDENT, OPEN, InterviewQuestion
from quizapp.interview.session.session import CONFIDENCES
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.choice import Choice
from quizapp.tui.widgets.cloze import Cloze, ClozeText
from quizapp.tui.widgets.number_field import NumberField
from quizapp.tui.widgets.order import Order
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock, plural

if TYPE_CHECKING:
    from quizapp.interview.service import Interview

_HOW: Mapping[str, str] = {
    RoundName.CODING: (
        "Write the module, check it yourself (ctrl+t) and submit it (ctrl+s); a stage that holds reveals the "
        "next. ctrl+r freezes it with your explanation; then say how sure you are."
    ),
    RoundName.REVIEW: (
        "Decide whether the code is correct and how sure you are; then point, say, prove and fix. ctrl+r "
        "hands a review in."
    ),
}
_ANSWER = (
    "Answer in your own words, as you would say it. ctrl+r freezes an answer; then say how sure you are."
)
BRIEF = (
    "ctrl+n puts a question aside until its phase ends. A question is cut at one and a half times its "
    "budget. Nothing is revealed before the end.\n\nenter begins."
)

RUN_BRIEF = (
    "A scenario is a **broken run**, really trained. f2: readings cost seconds of the clock, and you "
    "predict each one first. f3: in words, how to replay it, fix it, prove the fix, and prevent it. f4: the "
    "cause, its place, and a cause that a reading excludes. If nothing is broken, the cause is “no fault”, "
    "shown by the control run. Cheap readings that exclude causes, right predictions, cause and fix count; "
    "without a named cause or a reading, words earn at most 10 of 100."
)
LIVE_BRIEF = (
    "The run is **live**: you repair its script. f2: readings cost seconds of the clock, and you predict "
    "each one first. f4: cause and place; c commits to both and opens the script (f5). ctrl+s runs it, which "
    "costs seconds too; f6 shows the logs. Add an assert as a guard. f3: in words, how to prevent it. If "
    "nothing is broken, the cause is “no fault”, shown by a run on another seed. ctrl+r hands in, and the "
    "judge measures. Cheap readings that exclude causes, right predictions, cause, repair and guard count."
)
SPOKEN_BRIEF = (
    "Answer aloud; nothing is typed. ctrl+r ends an answer; then say how sure you are. ctrl+n puts a "
    "question aside until its phase ends. A question is cut at one and a half times its budget. After the "
    "round you mark key point by key point from memory, or from a recording of your own.\n\nenter begins."
)
_CHOOSING = {"choice": Phase.CHOICE, "order": Phase.ORDER}
SPEAK = "Answer aloud. ctrl+r when you have finished."
WORKING = "Write the steps of your working; the number goes into the field below (tab)."


class QuestionView(VerticalScroll):
    """Shows everything except code and incidents, and reads the answer back from its fields.

    Each ``show_…`` method returns the screen's new phase.
    """

    def __init__(self, interview: "Interview", *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, can_focus=False)
        self.interview = interview
        self.session = interview.session

    def compose(self) -> ComposeResult:
        """The prompt, a text field, a field for each machine-marked kind, and the degrees of confidence."""
        with Container(id="column"):
            yield Static("", id="earlier", classes="muted", markup=False)
            with VerticalScroll(id="asked", can_focus=False):
                yield Static("", id="prompt", markup=False)
            yield Static("", id="plain", markup=False)
            yield AnswerBox(id="typed")
            with ContentSwitcher(id="work"):
                yield NumberField(id="numeric")
                yield Choice(id="choice")
                yield Order(id="order")
                yield Cloze(id="cloze")
            yield Static("", id="sure", markup=False)

    def on_mount(self) -> None:
        """Keep this view's own colors for clickable text."""
        self.query_one("#sure").auto_links = False

    @property
    def choice(self) -> Choice:
        """The options of a choice question."""
        return self.query_one(Choice)

    @property
    def order(self) -> Order:
        """The steps of an order question."""
        return self.query_one(Order)

    @property
    def scroller(self) -> VerticalScroll:
        """What scrolls: the whole view, or only the prompt where that is long."""
        return self.query_one("#asked", VerticalScroll) if self.has_class("-long") else self

    def clear(self) -> None:
        """Hide every part that only some questions have."""
        self.set_class(False, "-long")
        for name in ("#earlier", "#plain", "#typed", "#work", "#sure"):
            self.query_one(name).display = False
        self.scroll_home(animate=False)
        self.query_one("#asked").scroll_home(animate=False)

    def collect(self, item: InterviewQuestion) -> None:
        """Hand what is typed so far to the session. Choices and orders are handed over as they are made."""
        if item.spoken:
            return
        if item.state == OPEN and item.kind in ("numeric", ESTIMATE):
            number = self.query_one("#numeric Input", Input).value
            if number != (item.given or ""):
                self.session.give(number)
        if item.open_follow_up is not None or (item.state == OPEN and item.kind in ("recall", ESTIMATE)):
            text = self.query_one("#typed", AnswerBox).text
            if text != (item.open_follow_up.typed if item.open_follow_up else item.typed):
                self.session.type(text)
        elif item.state == OPEN and item.kind == "cloze":
            answers = list(self.query_one(Cloze).answers)
            if answers != (item.gaps or [""] * len(answers)):
                self.session.give(answers if any(answers) else None)

    # showing

    def show_between(self) -> Phase:
        """Show the brief or the wrap-up."""
        first = self.session.phase == 0
        title = self.interview.title if first else "That was the last question"
        self.query_one("#prompt", Static).update(Document(title))
        plain = self.query_one("#plain", Static)
        plain.update(Document(self._brief() if first else self._wrap_up()))
        plain.display = True
        return Phase.BRIEF if first else Phase.WRAP

    def _brief(self) -> str:
        questions = [(phase, len(self.session.in_phase(i))) for i, phase in enumerate(self.session.phases)]
        phases = [
            f"- {phase.title}: {clock(phase.seconds)}, {plural(number, 'question')}"
            for phase, number in questions
            if number
        ]
        reserve = self.session.phases[-1]
        if reserve.name == "reserve":
            phases.append(f"- {reserve.title}: {clock(reserve.seconds)}")
        if self.interview.note:
            phases += ["", self.interview.note]
        if any(item.kind == INCIDENT and item.live is None for item in self.session.items):
            phases += ["", actions.name_keys(RUN_BRIEF)]
        if any(item.live for item in self.session.items):
            phases += ["", actions.name_keys(LIVE_BRIEF)]
        how = SPOKEN_BRIEF if self.interview.head.spoken else self._how()
        return "\n".join([*phases, "", actions.name_keys(how)])

    def _how(self) -> str:
        """How questions of this round are answered."""
        return f"{_HOW.get(self.interview.head.round, _ANSWER)} {BRIEF}"

    def _wrap_up(self) -> str:
        return (
            f"{self.session.answered} of {len(self.session.items)} answered. enter ends the interview; it "
            f"ends by itself when the time at the top is over. Then you see "
            "the key points and mark your answers."
        )

    def show_question(self, item: InterviewQuestion) -> Phase:
        """Show a question with the field for its kind of answer."""
        self.query_one("#prompt", Static).update(Document(asked_text(item, self.session.now.title)))
        # The field stays in view below a prompt of several screens.
        self.set_class(item.slot == "hypotheses", "-long")
        if item.kind == "recall":
            return self._show_words(item.typed, spoken=item.spoken)
        work = self.query_one("#work", ContentSwitcher)
        work.display = True
        work.current = "numeric" if item.kind == ESTIMATE else item.kind
        question = bank_question(item)
        if item.kind in ("numeric", ESTIMATE):
            self.query_one(NumberField).show(question.unit)
            field = self.query_one("#numeric Input", Input)
            field.value = str(item.given or "")
            if item.kind == ESTIMATE:
                self._note(WORKING)
                self._show_box(item.typed)
            else:
                field.focus()
        elif item.kind == "choice":
            self.choice.show(question.options, item.display_order)
        elif item.kind == "order":
            self.order.show(question.steps, item.sequence or item.display_order)
        else:
            self._show_cloze(question.text, len(gaps(question)), item.gaps)
        return _CHOOSING.get(item.kind, Phase.IDLE)

    def _show_cloze(self, text: str, number: int, given: list[str]) -> None:
        cloze = self.query_one(Cloze)
        cloze.show(text, number)
        if given:
            filled = cloze.query_one(ClozeText)
            filled.answers = list(given)
            cloze.query_one(Input).value = given[0]
            filled.changed()
        cloze.query_one(Input).focus()

    def _show_words(self, text: str, *, spoken: bool) -> Phase:
        """Show the field for an answer in words, or what to do if it is spoken; returns the phase."""
        if spoken:
            self._note(SPEAK)
        else:
            self._show_box(text)
        return Phase.IDLE

    def _note(self, text: str) -> None:
        plain = self.query_one("#plain", Static)
        plain.update(Content.styled(text, "$text-muted"))
        plain.display = True

    def _show_box(self, text: str) -> None:
        box = self.query_one("#typed", AnswerBox)
        box.load_text(text)
        box.leaves_pages = self.has_class("-long")
        box.move_cursor(box.document.end)
        box.display = True
        box.focus()

    def show_follow_up(self, item: InterviewQuestion) -> Phase:
        """Show the follow-up question that is being asked."""
        assert item.open_follow_up is not None
        earlier = self.query_one("#earlier", Static)
        asked = shorten(one_line(item.asked.prompt), 100, placeholder=" …")
        earlier.update(Content(f"After “{asked}” (no confidence asked)"))
        earlier.display = True
        self.query_one("#prompt", Static).update(Document(item.open_follow_up.ask))
        return self._show_words(item.open_follow_up.typed, spoken=item.spoken)

    def show_confidence(self, item: InterviewQuestion) -> Phase:
        """Ask how sure the learner is of the answer just frozen."""
        self.query_one("#prompt", Static).update(Document(item.title))
        row: list[Content] = []
        for number, percent in enumerate(CONFIDENCES, 1):
            cell = Content.assemble((f" {number} ", "bold $primary"), (f"{percent} % ", "bold"))
            link = Style.from_meta({"@click": f"screen.confide({percent})"})
            row.append(cell.stylize(link, 0, len(cell.plain)))
        ask = Content.styled("How sure are you of this answer?", "bold $primary")
        sure = self.query_one("#sure", Static)
        sure.update(Content("\n").join([ask, Content(""), Content("  ").join(row)]))
        sure.display = True
        return Phase.CONFIDENCE


def asked_text(item: InterviewQuestion, phase: str) -> str:
    """The prompt in Markdown; of a design question, with the phase that is asked for now."""
    return f"{item.asked.prompt}\n\nNow: {phase}." if item.slot == "design" else item.asked.prompt
