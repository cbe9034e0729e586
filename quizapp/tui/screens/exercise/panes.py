"""The exercise's three panes, its head line, and the user's file behind the editor."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from quizapp.tui.screens.base import Place
from quizapp.tui.widgets.code_editor import CodeEditor
from quizapp.tui.widgets.tab_strip import TabStrip
from quizapp.tui.widgets.verdict_view import VerdictView
from quizapp.util.atomic import write_atomic
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise

PANES = (("prompt", "f2", "Task"), ("code", "f3", "Code"), ("verdict", "f4", "Verdict"))
SIDE_BY_SIDE = 118
"""The width from which the style sheet shows all panes at once."""
DEVICES = (
    ("auto", "auto: the first CUDA device, else the CPU"),
    ("cpu", "cpu"),
    ("cuda", "cuda: an NVIDIA or ROCm GPU"),
    ("mps", "mps: Apple's GPU"),
)


class ExercisePanes(Place):
    """``slug`` names the exercise."""

    def __init__(self, slug: str, *, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self.slug = slug
        self.clock = clock
        self.opened_at = clock()
        self.path: Path | None = None
        self.saved = ""
        self._seen = self._tried = ""
        self.saved_at = 0.0
        self.graded = ""
        self.device = "auto"
        self.asked = False
        self.hints = 0
        self.passed = False
        self.asked_at = 0.0
        self.pane = "code"
        self._phase = "idle"
        self._loaded = False

    def body(self) -> ComposeResult:
        """Head, tabs for narrow screens, three panes."""
        yield Static("", id="head", classes="bar", markup=False)
        yield TabStrip(id="tabs")
        with Container(id="panes"):
            with VerticalScroll(id="prompt", classes="pane box", can_focus=False) as prompt:
                prompt.border_title = "Task"
                yield Static("", id="task", markup=False)
            with Vertical(id="code", classes="pane box current") as code:
                code.border_title = "Code"
                yield Input(placeholder="find", id="find", compact=True)
                yield CodeEditor(id="editor")
            with VerticalScroll(id="verdict", classes="pane box", can_focus=False) as verdict:
                verdict.border_title = "Verdict"
                yield VerdictView(id="view")

    @property
    def exercise(self) -> "Exercise":
        """The exercise itself."""
        return self.quiz.bank.exercises[self.slug]

    @property
    def editor(self) -> CodeEditor:
        """The built-in editor."""
        return self.query_one("#editor", CodeEditor)

    @property
    def view(self) -> VerdictView:
        """The verdict's widget."""
        return self.query_one("#view", VerdictView)

    # the file

    def _load(self, text: str) -> None:
        self.editor.load_text(text)
        self.saved = text
        self.saved_at = self._changed_at()

    def _changed_at(self) -> float:
        try:
            return self.path.stat().st_mtime if self.path else 0.0
        except OSError:
            return 0.0

    def _save(self) -> bool:
        """Write the editor's text to the user's file."""
        text = self.editor.text
        if self.path is None:
            return False
        if text == self.saved and self.path.exists():
            return True
        try:
            write_atomic(self.path, text)
        except OSError as error:
            self.quiz.say(f"The file cannot be written: {error.strerror} ({self.path}).", bad=True)
            return False
        self.saved = text
        self.saved_at = self._changed_at()
        self._fill_head()
        return True

    # panes and head

    def _fill_head(self) -> None:
        if not self._loaded:
            return
        exercise = self.exercise
        width = self.size.width - 2
        unsaved = " ●" if self.editor.text != self.saved else ""
        timer = f"{clock(self.clock() - self.opened_at)} of {exercise.minutes}:00"
        device = "" if self.device == "auto" else f"on {self.device} · "
        right = f"{exercise.level} · {device}{timer}"
        title = Content.styled(one_line(exercise.title) + unsaved, "bold $primary")
        title = title.truncate(max(8, width - len(right) - 2), ellipsis=True)
        gap = " " * max(1, width - title.cell_length - len(right))
        head = title.append(Content.styled(gap + right, "$text-muted"))
        if self._head_was is None or not head.is_same(self._head_was):
            self._head_was = head
            self.query_one("#head", Static).update(head)

    _head_was: Content | None = None

    def action_show(self, pane: str, focus: bool = True) -> None:
        """Bring a pane to the front."""
        self.pane = pane
        panes = [name for name, _, _ in PANES]
        for name in panes:
            self.query_one(f"#{name}").set_class(name == pane, "current")
        names = [f"{key} {title}" for _, key, title in PANES]
        tabs = self.query_one("#tabs", TabStrip)
        tabs.show(names, panes.index(pane), lambda index: f"screen.show('{panes[index]}')")
        if focus:
            if pane == "code":
                self.set_focus(self.editor)  # at once: the next key may come with this one
            else:
                self.set_focus(None)

    def refresh_keys(self) -> None:
        """Mark the pane that takes the keys: the code while a field has the focus, whatever was shown."""
        super().refresh_keys()
        self.query("#panes").set_class(self.focused is not None, "writing")

    def on_key(self, event: events.Key) -> None:
        """With no field in focus, the arrows scroll the pane in front."""
        if self.focused is None and event.key in {"up", "down", "pageup", "pagedown"} and self.pane != "code":
            step = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[event.key]
            self.query_one(f"#{self.pane}").scroll_relative(y=step, animate=False)
            event.stop()

    def on_resize(self, event: Any) -> None:
        """The head line is laid out by width."""
        del event
        self._fill_head()
