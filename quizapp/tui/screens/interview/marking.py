"""Marking after an interview: the learner's words beside the key points, which appear one at a time."""

from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from quizapp.errors import QuizError, TakenOver
from quizapp.interview.marking.model import Marking, WordsMarking
from quizapp.interview.marking.propose import is_self_marked
from quizapp.interview.marking.spoken_transcript import read_transcript
from quizapp.interview.marking.text_evidence import says_quote
from quizapp.interview.report.text import STATES
from quizapp.interview.session.question import INCIDENT, REVIEW, InterviewQuestion
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.interview.findings import found_text, own_text
from quizapp.tui.screens.interview.review_judging import ReviewJudging
from quizapp.tui.widgets.row_list import RowList
from quizapp.tui.widgets.rubric import POINT, WRONG, Rubric, RubricLine
from quizapp.tui.workers import call_on_ui, run_in_thread
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock

if TYPE_CHECKING:
    from quizapp.interview.service import Interview

NO_TRANSCRIPT = "Set 'transcript' in the settings to a command that writes a text to its output."
ASK = "Which words of your answer say it? enter uses them; esc counts the point half."


class RubricScreen(Place):
    """Goes through answers and their rubrics; marking after an interview and blind re-marking share it."""

    place = "mockmark"
    BINDINGS: ClassVar[list[object]] = actions.bindings("mockmark")  # type: ignore[assignment]
    CSS_PATH = "styles/marking.tcss"
    blind: ClassVar[bool] = False

    def __init__(self, items: Sequence[InterviewQuestion], markings: Sequence[Marking]) -> None:
        super().__init__()
        self.items, self.markings = items, markings
        self.at = 0
        self.seen: set[int] = set()
        self.decided: dict[int, set[int]] = {}
        """By question, the lines of its rubric that the learner has decided."""
        self._phase = Phase.MARKS

    def body(self) -> ComposeResult:
        """The head, the question, the learner's words, the rubric."""
        yield Static("", id="head", classes="bar", markup=False)
        with VerticalScroll(id="scroll", can_focus=False), Container(id="column"):
            yield Static("", id="prompt", markup=False)
            with Container(id="sides"):
                yield Static("", id="own", markup=False)
                yield Rubric(id="rubric")
            yield Static("", id="found", markup=False)
        with Container(id="ask"):
            yield Static(ASK, markup=False)
            yield Input(placeholder="the words of your answer that say it", id="phrase")

    def on_mount(self) -> None:
        """Show the first question."""
        self.query_one("#ask").display = False
        self.show()

    @property
    def item(self) -> InterviewQuestion:
        """The question that is being marked."""
        return self.items[self.at]

    @property
    def marking(self) -> Marking:
        """Its marking."""
        return self.markings[self.at]

    @property
    def rubric_marking(self) -> WordsMarking:
        """Its marking, where there is a rubric to decide on."""
        marking = self.marking
        assert isinstance(marking, WordsMarking)
        return marking

    @property
    def rubric(self) -> Rubric:
        """The widget with the lines to decide."""
        return self.query_one("#rubric", Rubric)

    # showing

    def show(self) -> None:
        """Show the question, the learner's words, and the first line of the rubric."""
        item = self.item
        with self.app.batch_update():
            self._show_head()
            titled = item.kind in {"coding", INCIDENT, REVIEW}
            asked = item.title if titled else item.asked.prompt
            self.query_one("#prompt", Static).update(Document(asked))
            self.query_one("#own", Static).update(own_text(item, blind=self.blind))
            decide = is_self_marked(item)
            rubric = self.rubric
            rubric.display = decide
            if decide:
                typed = [row.typed for row in item.follow_ups]
                rubric.show(self.rubric_marking, typed, everything=self.at in self.seen, blind=self.blind)
            self._show_found()
            self.enter_phase(Phase.MARKS if decide and rubric.order else Phase.SHOWN)
            self.query_one("#scroll").scroll_home(animate=False)

    def _show_found(self) -> None:
        """Show what the machine found.

        For an incident, wait until every point is decided, because the diagnosis would give the points away.
        """
        early = self.item.kind == INCIDENT and is_self_marked(self.item) and not self._decided()
        findings = Content("") if self.blind or early else found_text(self.item, self.marking)
        self.query_one("#found", Static).update(findings)
        self.query_one("#found").display = not isinstance(findings, Content) or bool(findings.plain)

    def _decided(self) -> bool:
        """Whether every line of the rubric has been decided."""
        return self.at in self.seen or self._undecided() is None

    def _undecided(self) -> int | None:
        """The first line of the rubric without a decision."""
        lines = range(len(self.rubric.order))
        return next((n for n in lines if n not in self.decided.get(self.at, ())), None)

    def _show_head(self) -> None:
        item = self.item
        right = f"{self.at + 1} of {len(self.items)}"
        sure = "" if item.confidence is None or self.blind else f" · {item.confidence} % sure"
        text = f"{STATES[item.state]} · {clock(item.used_ms / 1000)} of {clock(item.budget)}{sure}"
        width = max(20, self.size.width - 2)
        left = Content.styled(item.slot.capitalize(), "bold $primary").append(
            Content.styled(f"  {text}", "$text-muted")
        )
        left = left.truncate(max(8, width - len(right) - 1), ellipsis=True)
        self.query_one("#head", Static).update(
            left.append(" " * max(1, width - left.cell_length - len(right))).append(right)
        )

    def scroller(self) -> Widget:
        """Everything between head and key bar."""
        return self.query_one("#scroll")

    # deciding

    def action_yes(self) -> None:
        """Decide that the point was said; if no words match, ask for the phrase."""
        line = self.rubric.line
        if line is None or self._out_of_view():
            return
        wants = line.kind == POINT and self.rubric_marking.needs_phrase(line.index)
        if wants and not self.rubric_marking.points[line.index].quote and not self.blind:
            field = self.query_one("#phrase", Input)
            field.value = ""
            self.query_one("#ask").display = True
            field.focus()
            self.call_after_refresh(self.rubric.keep_cursor_in_view, self.scroller())
            return
        self._decide(line, 1.0)

    def action_no(self) -> None:
        """Decide that the point was not said."""
        if (line := self.rubric.line) is not None and not self._out_of_view():
            self._decide(line, 0.0)

    def action_half(self) -> None:
        """Decide that half of the point was said."""
        if (line := self.rubric.line) is not None and not self._out_of_view():
            self._decide(line, 0.5)

    def _decide(self, line: RubricLine, held: float, quote: str = "") -> None:
        if line.kind == POINT:
            self.hold(line.index, held, quote)
        elif line.kind == WRONG:
            self.rubric_marking.misconceptions[line.index].stated = held > 0
        else:
            self.rubric_marking.follow_ups[line.index].held = held
        self.changed()
        self.decided.setdefault(self.at, set()).add(self.rubric.cursor)
        self.rubric.decided()
        self._show_found()
        self.refresh_keys()
        self.rubric.keep_cursor_in_view(self.scroller())

    def hold(self, index: int, held: float, quote: str) -> None:
        """Store the decision on a key point."""
        point = self.rubric_marking.points[index]
        phrase = quote or point.quote
        ticked, half = held > 0, held == 0.5
        self.rubric_marking.tick(index, self.item.typed, ticked=ticked, half=half, quote=phrase)

    def changed(self) -> None:
        """Called after each decision."""

    def action_phrase(self) -> None:
        """Use the phrase, if it is in the answer."""
        field = self.query_one("#phrase", Input)
        line = self.rubric.line
        if line is None or not self.query_one("#ask").display:
            return
        if not says_quote(field.value, self.item.typed):
            self.quiz.say(
                "Your answer does not contain that (two words at least); esc counts it half.", bad=True
            )
            return
        quote = field.value
        self._close_phrase()
        self._decide(line, 1.0, quote)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter uses the phrase."""
        event.stop()
        self.action_phrase()

    def action_leave_field(self) -> None:
        """Give no phrase; the point counts half, as unsupported."""
        line = self.rubric.line
        self._close_phrase()
        if line is not None:
            self._decide(line, 1.0)

    def _close_phrase(self) -> None:
        self.query_one("#ask").display = False
        self.set_focus(None)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        """Go to the clicked line; if the cursor is there already, reverse the decision."""
        rubric = self.rubric
        if event.place != rubric.cursor:
            rubric.move(event.place - rubric.cursor)
            return
        line = rubric.line
        if line is not None and line.kind == POINT and self.rubric_marking.points[line.index].ticked:
            self.action_no()
        else:
            self.action_yes()

    def _out_of_view(self) -> bool:
        """Whether the line is hidden below a long answer; if so, scroll to it before it is decided."""
        if self.rubric.cursor_in_view(self.scroller()):
            return False
        self.rubric.keep_cursor_in_view(self.scroller())
        return True

    def move(self, step: int) -> None:
        """Move to the next line, or scroll."""
        if self.phase == Phase.MARKS:
            self.rubric.move(step)
            self.rubric.keep_cursor_in_view(self.scroller())
        else:
            super().move(step)

    def action_strong(self) -> None:
        """Show a strong answer, once the points are decided."""
        if is_self_marked(self.item) and not self._decided():
            self.quiz.say("Decide on the key points first.")
            return
        item = self.item
        answer = item.asked.answer
        text = f"```python\n{answer}\n```" if item.kind == "coding" else answer
        title = item.title
        self.quiz.read(shorten(one_line(title), 60, placeholder=" …"), text)

    def action_transcript(self) -> None:
        """Show what the command of the settings writes, such as a transcript of what was said."""
        command, quiz = self.quiz.study.settings.transcript, self.quiz
        quiz.say("Running the command for the transcript …" if command else NO_TRANSCRIPT)

        def work() -> None:
            try:
                text = read_transcript(command)
            except QuizError as error:
                call_on_ui(quiz, lambda problem=str(error): quiz.say(problem, bad=True))
            else:
                call_on_ui(quiz, lambda: quiz.read("Transcript", text, markdown=False))

        if command:
            run_in_thread(quiz, work, "transcript", exclusive=True)

    def offers(self, act: actions.Act) -> bool:
        """Offer a transcript only where the answer was spoken."""
        return (act.action != "transcript" or self.item.spoken) and super().offers(act)

    def label_of(self, act: actions.Act) -> str:
        """Say that enter goes on once there is nothing left to decide."""
        if act.action == "take" and (self.phase != Phase.MARKS or self._decided()):
            return "go on"
        return super().label_of(act)

    def action_take(self) -> None:
        """Decide the line as it stands; once every line is decided, go on."""
        if self.phase == Phase.MARKS and self._decide_as_it_stands():
            return
        self.seen.add(self.at)
        if self.at + 1 < len(self.items):
            self.at += 1
            self.show()
        else:
            self.finish()

    def _decide_as_it_stands(self) -> bool:
        """Decide the line under the cursor as it is shown; False if every line is decided."""
        if self._decided():
            return False
        rubric = self.rubric
        undecided = self._undecided()
        if undecided is not None and rubric.cursor in self.decided.get(self.at, ()):
            rubric.move(undecided - rubric.cursor)
        line = rubric.line
        if line is None or self._out_of_view():
            return True
        if line.kind == POINT:
            point = self.rubric_marking.points[line.index]
            if point.held == 1.0 or not point.ticked:
                self._decide(line, point.held, point.quote)
            else:
                self._decide(line, 0.5 if point.half else 1.0, point.quote)
        elif line.kind == WRONG:
            self._decide(line, float(self.rubric_marking.misconceptions[line.index].stated))
        else:
            self._decide(line, self.rubric_marking.follow_ups[line.index].held)
        return True

    def action_go(self, step: int) -> None:
        """Go to another question; unseen ones come in order."""
        if step > 0 and not self._decided():
            self.quiz.say("Decide every line first; enter decides a line as it stands.")
        elif step > 0:
            self.action_take()
        elif self.at > 0:
            self.at -= 1
            self.show()

    def finish(self) -> None:
        """Called once every question is marked."""

    def on_resize(self) -> None:
        """The head is laid out by width."""
        self._show_head()


class MarkScreen(RubricScreen):
    """The marking of an interview that has ended; at its end the marks and reviews are stored.

    Code reviews are judged meanwhile; nothing is stored before all of them are.
    """

    def __init__(self, interview: "Interview") -> None:
        super().__init__(interview.session.items, interview.markings)
        self.interview = interview
        self.judging = ReviewJudging(self)

    def on_mount(self) -> None:
        """Show the first question, and have the judge run what it has not run yet."""
        super().on_mount()
        self.judging.start()

    def changed(self) -> None:
        """Save every decision at once."""
        self.interview.save()
        if self.interview.taken:
            self.call_later(self._leave_taken)

    def refresh_findings(self, number: int) -> None:
        """Show what the judge found out about a question, if that is the one on the screen."""
        if self.item.number == number:
            self._show_found()

    def finish(self) -> None:
        """Store marks and reviews; ask first whether an interview counts that was left before its half."""
        if not self.judging.finished():
            return
        if self.interview.reached_half or not self.interview.form.has_total:
            self._record(counts=True)
            return
        entries = [("yes", "Yes, it counts"), ("no", "No: keep the marks, leave it out of all trends")]

        def chosen(answer: str | None) -> None:
            if answer:
                self._record(counts=answer == "yes")

        self.quiz.push_screen(
            Choose("Fewer than half of the questions were reached. Count it?", entries), chosen
        )

    def _record(self, *, counts: bool) -> None:
        """Store marks and reviews in one transaction, then show the scorecard."""
        from quizapp.tui.screens.interview.scorecard import CardScreen

        try:
            report = self.interview.record(counts=counts)
        except TakenOver as error:
            self.interview.taken = str(error)
            self._leave_taken()
            return
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.quiz.switch_screen(CardScreen(report))

    def _leave_taken(self) -> None:
        if self.app.screen is not self:
            return
        self.quiz.say(self.interview.taken, bad=True)
        self.quiz.go_back(self)
