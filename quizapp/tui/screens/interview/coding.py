"""The coding item of a mock interview: task, code, explanation, own check, and the judge."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.interview.marking.self_check import Checked, run_check
from quizapp.interview.session.question import Item
from quizapp.tui.rendering.markdown import document
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.code_editor import CodeEditor
from quizapp.tui.workers import beside, tell
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict
    from quizapp.tui.screens.interview.running import Asking

PANES = (("task", "f2", "Task"), ("code", "f3", "Code"), ("explain", "f4", "Explain"))
_OUTPUT = 6
BEGIN = (
    "Read the task (f2), write the module (f3), check it yourself (ctrl+t) before you submit it (ctrl+s), "
    "explain it (f4)."
)
EXPLAIN = "Explain what must hold in your code and why: invariants, shapes, edge cases."


class CodingPart:
    """Lives inside the running screen; of the verdict it shows the number of tests that held, no more."""

    def __init__(self, screen: "Asking") -> None:
        self.screen = screen
        self.loaded: int | None = None

    def compose(self) -> ComposeResult:
        """Tabs, three panes, a few lines of output."""
        with Container(id="coding"):
            yield Static("", id="tabs", markup=False)
            with VerticalScroll(id="pane-task", classes="pane", can_focus=False):
                yield Static("", id="task", markup=False)
            with Vertical(id="pane-code", classes="pane current"):
                yield CodeEditor(id="editor")
            with Vertical(id="pane-explain", classes="pane"):
                yield Static(EXPLAIN, classes="muted", markup=False)
                yield AnswerBox(id="explained")
            yield Static("", id="output", markup=False)

    @property
    def editor(self) -> CodeEditor:
        """The built-in editor."""
        return self.screen.query_one("#editor", CodeEditor)

    @property
    def explained(self) -> AnswerBox:
        """The explanation."""
        return self.screen.query_one("#explained", AnswerBox)

    def show(self, item: Item) -> None:
        """Show an item; its code is loaded once."""
        self.screen.enter_phase("coding")
        if self.loaded != item.number:
            self.loaded = item.number
            self.screen.query_one("#task", Static).update(document(item.question["prompt"]))
            self.editor.load_text(self._left_outside(item) or item.code or item.question["starter"])
            self.explained.show(())
            self.explained.load_text(item.typed)
            last = item.submissions[-1]["verdict"] if item.submissions else None
            self.say(_held(last) if last else BEGIN)
        self.screen.quiz.warm_judge()
        self.go("code")

    def collect(self, item: Item) -> None:
        """Hand what stands in the fields to the session."""
        if self.loaded != item.number:
            return
        if self.editor.text != (item.code or item.question["starter"]):
            self.screen.session.write_code(self.editor.text)
        if self.explained.text != item.typed:
            self.screen.session.type(self.explained.text)

    def go(self, name: str) -> None:
        """Bring a pane to the front."""
        parts = []
        for pane, key, title in PANES:
            self.screen.query_one(f"#pane-{pane}").set_class(pane == name, "current")
            text = f" {key} {title} "
            click = Style.from_meta({"@click": f"screen.pane('{pane}')"})
            style = "bold reverse $primary" if pane == name else "$text-muted"
            parts.append(Content.styled(text, style).stylize(click, 0, len(text)))
        tabs = self.screen.query_one("#tabs", Static)
        tabs.auto_links = False
        tabs.update(Content(" ").join(parts))
        if name == "code":
            self.editor.focus()
        elif name == "explain":
            self.explained.focus()
        else:
            self.screen.set_focus(None)

    def say(self, text: str, style: str = "$text-muted") -> None:
        """A few lines below the panes."""
        lines = escape_controls(text.strip()).splitlines()
        shown = lines if len(lines) <= _OUTPUT else ["…", *lines[-_OUTPUT:]]
        self.screen.query_one("#output", Static).update(plain("\n".join(shown), style))

    # running and submitting

    def check(self) -> None:
        """Run the learner's own check in a thread."""
        item = self.screen.session.item
        if item is None:
            return
        source, module = self.editor.text, item.question["module"]
        self.say("Running your module …")

        def work() -> None:
            found = run_check(source, module)
            tell(self.screen.quiz, self._checked, item.number, found)

        beside(self.screen.quiz, work, "check", exclusive=True)

    def _checked(self, number: int, found: Checked) -> None:
        item = self.screen.session.item
        if item is None or item.number != number or not self.screen.stands:
            return
        if found.counts:
            self.screen.session.checked(found.ok)
        self.say(found.output, "$success" if found.ok and found.counts else "$warning")

    def submit(self) -> None:
        """Submit the code as it stands now."""
        session = self.screen.session
        item = session.item
        if item is None or item.kind != "coding":
            return
        exercise = self.screen.quiz.bank.exercises.get(item.exercise)
        if exercise is None:
            self.say("The exercise is no longer in the bank.", "$error")
            return
        source, number, at_ms = self.editor.text, item.number, session.elapsed_ms
        self.say("Submitted; the hidden tests are running …")

        def told(found: "Verdict | QuizError") -> None:
            if isinstance(found, QuizError):
                self.say(str(found), "$error")
                return
            session.submitted(number, source, found.as_json(), at_ms)
            self.screen.interview.save()
            self.say(_held(found.as_json()), "$success" if found.passed else "$warning")

        self.screen.quiz.grader.submit(exercise, source.encode(), "cpu", told)

    def edit(self) -> None:
        """Write the code in the learner's editor; the clock goes on meanwhile."""
        from quizapp.tui.editor import edit

        session, item = self.screen.session, self.screen.session.item
        if item is None or item.kind != "coding":
            return
        path = self._outside(item)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.editor.text, encoding="utf-8")
            edit(self.screen.quiz, path, self.editor.cursor_location[0] + 1)
            text = path.read_text(encoding="utf-8-sig")
            path.unlink()
        except (OSError, UnicodeDecodeError) as error:
            self.say(f"{path} cannot be used: {error}", "$error")
            return
        said = session.tick(present=True)
        if session.item is item:  # else it was cut while the editor was open
            self.editor.load_text(text)
            self.collect(item)
        self.screen.heard(said)

    def _outside(self, item: Item) -> Path:
        """Where the code lies while another editor has it; found again if the terminal is lost then."""
        folder = paths.home() / "mock" / f"{self.screen.interview.id}-{item.number}"
        return folder / str(item.question["module"])

    def _left_outside(self, item: Item) -> str:
        """What another editor saved before the terminal was lost; empty in the usual case."""
        try:
            return self._outside(item).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return ""


def _held(verdict: Mapping[str, Any]) -> str:
    """How many hidden tests held, which is all that is told before the end."""
    held = sum(test["passed"] for test in verdict["tests"])
    total = len(verdict["tests"])
    return f"{verdict['status']}: {held} of {total} hidden tests held. The last submission counts."
