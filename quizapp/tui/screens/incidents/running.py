"""The scenario of a mock interview: a broken run, readings that cost seconds, answer and diagnosis."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from quizapp.interview.session.question import InterviewQuestion
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.markdown import document
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.incidents.live_desk import LiveDesk
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.diagnosis_form import HEADS, DiagnosisForm
from quizapp.tui.widgets.readings import Readings
from quizapp.tui.widgets.row_list import RowList
from quizapp.tui.widgets.tab_strip import TabStrip

if TYPE_CHECKING:
    from quizapp.interview.service import Interview
    from quizapp.tui.screens.interview.running import RunScreen

PANES = (("run", "f2", "Run"), ("answer", "f3", "Answer"), ("diagnosis", "f4", "Diagnosis"))
LIVE_PANES = (("script", "f5", "Script"), ("log", "f6", "Log"))
PHASE_OF_PANE = {
    "run": Phase.READINGS,
    "answer": Phase.TELLING,
    "diagnosis": Phase.DIAGNOSIS,
    "script": Phase.SCRIPT,
    "log": Phase.LOG,
}
_LIVE_ACTS = frozenset(
    {
        "case('script')",
        "case('log')",
        *(f"live('{name}')" for name in ("run", "stop", "commit", "older", "newer")),
    }
)
WRITE = (
    "Give the symptom with numbers, how to replay it, the cause, the smallest fix, how you verify it, "
    "and a guard."
)
ASKED = {
    "cause": "What is the cause?",
    "place": "Where is it?",
    "decoy": "Which other cause did you reject?",
    "reading": "Which reading rejects it?",
}


class IncidentView(Container):
    """Three panes; on a wide terminal the run stays beside answer and diagnosis."""

    def __init__(self, interview: "Interview", *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.interview = interview
        self.session = interview.session
        self.loaded: int | None = None
        self.pane = "run"
        self.warned: set[str] = set()
        self.desk = LiveDesk(interview, id="desk")

    def compose(self) -> ComposeResult:
        """Tabs, then the panes."""
        yield TabStrip(id="casetabs")
        with Horizontal(id="cases"):
            with VerticalScroll(id="case-run", classes="pane", can_focus=False):
                yield Static("", id="told", markup=False)
                yield Readings(id="readings")
            with Container(id="beside"):
                with Vertical(id="case-answer", classes="pane"):
                    yield Static(WRITE, classes="muted", markup=False)
                    yield Static("", id="seen", markup=False)
                    yield AnswerBox(id="said")
                with VerticalScroll(id="case-diagnosis", classes="pane", can_focus=False):
                    yield DiagnosisForm(id="form")
            yield self.desk

    @property
    def run_screen(self) -> "RunScreen":
        """The screen, with its own type."""
        return cast("RunScreen", self.screen)

    @property
    def answer(self) -> AnswerBox:
        """The answer in words."""
        return self.query_one("#said", AnswerBox)

    @property
    def readings(self) -> Readings:
        """The list of readings."""
        return self.query_one("#readings", Readings)

    @property
    def form(self) -> DiagnosisForm:
        """The diagnosis."""
        return self.query_one("#form", DiagnosisForm)

    @property
    def item(self) -> InterviewQuestion | None:
        """The current incident; None if it has been cut."""
        item = self.session.item
        return item if item is not None and item.number == self.loaded and item.state == "open" else None

    def scroller(self) -> Widget:
        """The pane that scrolls."""
        names = {"diagnosis": "#case-diagnosis", "log": "#run-lines", "script": "#run-lines"}
        return self.query_one(names.get(self.pane, "#case-run"))

    # showing

    def show(self, item: InterviewQuestion) -> Phase:
        """Show an incident and return the phase. The typed answer is loaded only the first time."""
        if self.loaded != item.number:
            self.loaded = item.number
            self.warned = set()
            self.readings.cursor = self.form.cursor = 0
            self.answer.load_text(item.typed)
            self.query_one("#case-run").scroll_home(animate=False)
        if item.live is not None:
            self.desk.load(item)
        self.changed()
        self.go("run")
        return PHASE_OF_PANE["run"]

    def changed(self) -> None:
        """Redraw after a reading, a hint or a choice."""
        item = self.item
        if item is None:
            return
        hints = [f"> Hint: {hint}" for hint in item.incident.hints[: item.hints]]
        script = [f"**The script**, `run.py`: {item.live_task.brief.strip()}"] if item.live else []
        title = f"**{item.incident.title}**"
        text = "\n\n".join([title, item.incident.prompt.strip(), *script, *hints])
        self.query_one("#told", Static).update(document(text))
        self.readings.show(item.incident.readings, item.bought, self._excluded(item))
        self.form.show(item.incident, item.diagnosis, item.live)
        ends = (f"{reading.title} {bought.outcome}" for reading, bought in item.readings_bought())
        self.query_one("#seen", Static).update(plain(" · ".join(ends), "$text-muted"))

    @staticmethod
    def _excluded(item: InterviewQuestion) -> dict[str, list[str]]:
        """In practice, by reading that was taken, the causes that it excludes."""
        taken = [row.reading for row in item.bought] if item.practice else []
        return {name: item.incident.excluded_by(name) for name in taken}

    def collect(self, item: InterviewQuestion) -> None:
        """Hand the typed answer and the script to the session."""
        if item.live is not None:
            self.desk.collect(item)
        if self.loaded == item.number and self.answer.text != item.typed:
            self.session.type(self.answer.text)

    def go(self, name: str) -> None:
        """Bring a pane to the front; ``numbers`` is none, but shows or hides those of the curves."""
        if name == "numbers":
            self.readings.numbers = not self.readings.numbers
            self.readings.changed()
            return
        live = self.item is not None and self.item.live is not None
        if name in ("script", "log") and not live:
            return
        self.pane = name
        self.readings.asking = False
        self.readings.changed()
        shown = (*PANES, *LIVE_PANES) if live else PANES
        panes = [pane for pane, _, _ in shown]
        self.query_one("#cases").set_class(name in ("script", "log"), "desk")
        for pane in panes:
            front = pane == name or (name == "run" and pane == "answer")
            self.query_one(f"#case-{pane}").set_class(pane == name, "current")
            self.query_one(f"#case-{pane}").set_class(front, "front")
        self.query_one("#beside").set_class(name == "run", "idle")
        names = [f"{key} {title}" for _, key, title in shown]
        tabs = self.query_one("#casetabs", TabStrip)
        tabs.show(names, panes.index(name), lambda index: f"screen.case('{panes[index]}')")
        if name in ("answer", "script"):
            (self.answer if name == "answer" else self.desk.editor).focus()
        else:
            self.screen.set_focus(None)
        self.run_screen.enter_phase(PHASE_OF_PANE[name])

    def move(self, step: int) -> None:
        """Move the cursor of the pane, or scroll the log."""
        if self.pane == "log":
            self.scroller().scroll_relative(y=step, animate=False)
            return
        self._list.move_or_scroll(step, self.scroller())

    @property
    def _list(self) -> RowList:
        return self.form if self.pane == "diagnosis" else self.readings

    def pick(self, pane: str, place: int) -> None:
        """Move the cursor to the clicked line of a pane; if it is there already, act like enter."""
        if self.item is None:
            return
        widget = self.form if pane == "diagnosis" else self.readings
        if self.pane != pane or widget.cursor != place:
            self.go(pane)
            widget.move(place - widget.cursor)
            self.keep_in_view()
        elif pane == "diagnosis":
            self.choose()
        else:
            self.ask()

    @on(RowList.Picked, "#readings")
    def _reading_clicked(self, event: RowList.Picked) -> None:
        """A click on a reading."""
        event.stop()
        self.pick("run", event.place)

    @on(RowList.Picked, "#form")
    def _form_clicked(self, event: RowList.Picked) -> None:
        """A click on a line of the diagnosis."""
        event.stop()
        self.pick("diagnosis", event.place)

    def keep_in_view(self) -> None:
        """Scroll to the line under the cursor."""
        self._list.keep_cursor_in_view(self.scroller())

    # readings

    def ask(self) -> None:
        """Ask how the reading under the cursor ends."""
        reading, item = self.readings.here, self.item
        if reading is None or item is None or item.bought_reading(reading.id) is not None:
            return
        if not self.session.can_buy(reading.id):
            self.run_screen.quiz.say("That reading costs more time than is left.", bad=True)
            return
        self.readings.asking = True
        self.readings.changed()
        self.run_screen.enter_phase(Phase.PREDICT)
        self.run_screen.call_after_refresh(self.keep_in_view)

    def predict(self, number: int) -> None:
        """Pay for the reading and show it."""
        reading = self.readings.here
        if reading is None or number >= len(reading.outcomes):
            return
        self.run_screen.collect()
        happened = self.session.buy(reading.id, reading.outcomes[number])
        if not happened:
            self.run_screen.quiz.say("That reading costs more time than is left.", bad=True)
        self.interview.save()
        self.go("run")
        self.run_screen.react(happened)
        self.changed()
        self.run_screen.call_after_refresh(self.keep_in_view)

    def hint(self) -> None:
        """Show the next hint, once its price is accepted."""
        item = self.item
        if item is None:
            return
        if item.hints >= len(item.incident.hints):
            self.run_screen.quiz.say("There are no more hints.")
            return

        def chosen(answer: str | None) -> None:
            if answer == "yes" and self.item is item:
                self.session.hint()
                self.interview.save()
                self.go("run")
                self.changed()
                self.query_one("#case-run").scroll_home(animate=False)

        entries = [
            ("no", "No, go on without it"),
            ("yes", f"Show hint {item.hints + 1} of {len(item.incident.hints)}"),
        ]
        self.run_screen.quiz.push_screen(Choose("A hint costs 10 marks", entries), chosen)

    # diagnosis

    def choose(self) -> None:
        """Tick the state, or choose from the list, of the line under the cursor."""
        item = self.item
        if item is None:
            return
        field, name = self.form.here
        if field == "command":
            self.desk.ask_command()
            return
        if item.is_committed(field):
            self.run_screen.quiz.say("Cause and place are fixed since you committed to them.")
            return
        if field == "states":
            self._commit(item, field, item.diagnosis.toggle_state(name))
            return
        entries = self._entries(item, field)
        if not entries:
            self.run_screen.quiz.say(
                "Take a reading first (f2)." if field == "reading" else "Choose the cause first."
            )
            return
        chosen = getattr(item.diagnosis, field)

        def commit(value: str | None) -> None:
            if value and self.item is item:
                self._commit(item, field, value)
                self.move(1)

        self.run_screen.quiz.push_screen(Choose(ASKED[field], entries, chosen), commit)

    @staticmethod
    def _entries(item: InterviewQuestion, field: str) -> list[tuple[str, str]]:
        if field == "reading":
            rows = item.readings_bought()
            return [(reading.id, f"{reading.title}: {bought.outcome}") for reading, bought in rows]
        if field == "place":
            return [(place.id, place.text) for place in item.incident.places]
        named = item.diagnosis.cause if field == "decoy" else ""
        return [(cause.id, cause.text) for cause in item.incident.causes if cause.id != named]

    def _commit(self, item: InterviewQuestion, field: str, value: str | list[str]) -> None:
        self.session.commit(field, value)
        self.interview.save()
        self.form.show(item.incident, item.diagnosis, item.live)

    def live(self, name: str) -> None:
        """Do something that only a live incident has."""
        if self.item is None or self.item.live is None:
            return
        acts: dict[str, Callable[[], None]] = {
            "run": self.desk.ask_run,
            "stop": self.desk.stop_run,
            "commit": self.desk.commit,
            "older": lambda: self.desk.other_run(-1),
            "newer": lambda: self.desk.other_run(1),
        }
        acts[name]()

    def offers(self, action: str) -> bool:
        """Whether a key of a live incident has something to act on; other keys always have."""
        if action not in _LIVE_ACTS:
            return True
        if self.item is None or self.item.live is None:
            return False
        return {
            "live('stop')": self.desk.is_running,
            "live('run')": not self.desk.is_running,
            "live('commit')": not self.item.live.committed,
        }.get(action, True)

    def ready(self, item: InterviewQuestion) -> bool:
        """Whether the answer may be frozen. Warns about missing parts once; then the learner decides."""
        fields = item.diagnosis.missing()
        missing = {*fields, *(() if item.typed.strip() else ("words",))}
        if missing <= self.warned:
            return True
        self.warned |= missing
        self.go("answer" if "words" in missing else "diagnosis")
        chosen = f"not chosen yet: {', '.join(HEADS[field].strip('…').lower() for field in fields)}"
        parts = ["nothing is written yet"] if "words" in missing else []
        text = ", ".join(parts + ([chosen] if fields else []))
        self.run_screen.quiz.say(f"{text[0].upper()}{text[1:]}; ctrl+r again freezes it as it is.", bad=True)
        return False
