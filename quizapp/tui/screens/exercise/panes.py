"""The panes of an exercise (task, code, verdict), side by side on wide screens and in tabs on others.

On a wide but low screen, task and verdict take turns beside the code. Any pane can fill the screen.
"""

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from quizapp.tui.rendering.markdown import document
from quizapp.tui.widgets.code_editor import CodeEditor
from quizapp.tui.widgets.tab_strip import TabStrip
from quizapp.tui.widgets.verdict_view import VerdictView

PANES = (("prompt", "f2", "Task"), ("code", "f3", "Code"), ("verdict", "f4", "Verdict"))
SIDE_BY_SIDE = 118
"""The width from which the style sheet shows all panes at once."""
LOW = 44
"""The height below which task and verdict, one above the other, would be too short to read."""
VERY_WIDE = 170
"""The width from which the style sheet has a column for each pane, so that none is short."""


class ExercisePanes(Vertical):
    """Three panes, one of them current, and a search field above the code."""

    def __init__(self) -> None:
        super().__init__()
        self.current = "code"
        self._beside = "prompt"  # the pane that is beside the code where task and verdict take turns

    def compose(self) -> ComposeResult:
        """Tabs for narrow screens, then the panes."""
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

    def on_mount(self) -> None:
        """The search field opens on demand."""
        self.query_one("#find").display = False

    @property
    def editor(self) -> CodeEditor:
        """The built-in editor."""
        return self.query_one("#editor", CodeEditor)

    @property
    def view(self) -> VerdictView:
        """The verdict's widget."""
        return self.query_one("#view", VerdictView)

    def pane(self, name: str) -> Widget:
        """One of the panes."""
        return self.query_one(f"#{name}")

    def show_task(self, prompt: str) -> None:
        """Show the task, which is Markdown."""
        self.query_one("#task", Static).update(document(prompt))

    def show(self, pane: str, *, focus: bool = True) -> None:
        """Bring a pane to the front."""
        self.current = pane
        if pane != "code":
            self._beside = pane
        names = [name for name, _, _ in PANES]
        for name in names:
            self.pane(name).set_class(name == pane, "current")
            self.pane(name).set_class(name not in ("code", self._beside), "behind")
        self.show_titles()
        if focus:  # at once and not after the next frame, because the next key may already be on its way
            self.screen.set_focus(self.editor if pane == "code" else None)

    def show_titles(self) -> None:
        """Name the panes in tabs and borders; the verdict's title says whether it is about older code."""
        names = [name for name, _, _ in PANES]
        titles = {name: title for name, _, title in PANES}
        if self.view.stale:
            titles["verdict"] += " (older code)"
        tabs = [f"{key} {titles[name]}" for name, key, _ in PANES]
        current = names.index(self.current)
        self.query_one(TabStrip).show(tabs, current, lambda index: f"screen.show('{names[index]}')")
        takes_turns = self.query_one("#panes").has_class("low")
        for name, key, _ in PANES:
            others = [f"{k} {titles[n]}" for n, k, _ in PANES if n not in (name, "code")]
            has_tab = takes_turns and name != "code"
            self.pane(name).border_title = f"{key} {titles[name]} · {others[0]}" if has_tab else titles[name]

    def on_resize(self) -> None:
        """On a wide but low screen, let task and verdict take turns."""
        size = self.app.size
        takes_turns = size.height < LOW and size.width < VERY_WIDE
        panes = self.query_one("#panes")
        if takes_turns != panes.has_class("low"):
            # The grid is filled in this order, and both are to be on the left of the code.
            verdict, code = self.pane("verdict"), self.pane("code")
            panes.move_child(verdict, before=code) if takes_turns else panes.move_child(verdict, after=code)
        panes.set_class(takes_turns, "low")
        self.show_titles()

    def enlarge(self, pane: str) -> None:
        """Let a pane fill the screen, or bring the others back."""
        fills = self.query_one("#panes").toggle_class("enlarged").has_class("enlarged")
        self.show(pane if fills else self.current)

    def mark_focus(self, *, writing: bool) -> None:
        """Mark the pane that receives the keys, which is the code while a field has the focus."""
        self.query_one("#panes").set_class(writing, "writing")

    # searching in the code

    def open_find(self) -> bool:
        """Open and focus the search field; False if it is open with a search already."""
        field = self.query_one("#find", Input)
        if field.display and field.value:
            return False
        field.display = True
        self.show("code", focus=False)
        field.focus()
        return True

    def find_next(self) -> bool:
        """Select the next match in the code; False where there is none."""
        return self.editor.find(self.query_one("#find", Input).value)

    def close_find(self) -> None:
        """Close the search field and go back to the code."""
        self.query_one("#find").display = False
        self.editor.focus()
