"""The coding question of a mock interview: task, code, explanation, the learner's own check, the judge."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.interview.marking.self_check import SelfCheckResult, run_check
from quizapp.interview.session.question import DEBUG, InterviewQuestion
from quizapp.practice.stage_task import stage_task
from quizapp.practice.staged_run import outcome_sentence
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.markdown import document
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.code_editor import CodeEditor
from quizapp.tui.widgets.tab_strip import TabStrip
from quizapp.tui.workers import call_on_ui, run_in_thread
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.interview.service import Interview
    from quizapp.judge.verdict import Verdict
    from quizapp.tui.bridges.judge_bridge import PendingSubmission
    from quizapp.tui.screens.interview.running import RunScreen

PANES = (("task", "f2", "Task"), ("code", "f3", "Code"), ("explain", "f4", "Explain"))
OUTPUT_LINES = 6
BEGIN = (
    "Read the task (f2), write the module (f3), check it yourself (ctrl+t) before you submit it (ctrl+s), "
    "explain it (f4)."
)
EXPLAIN = "Explain what must hold in your code and why: invariants, shapes, edge cases."


class CodingView(Container):
    """Three panes and a few lines of output. A verdict appears only as the number of passed tests."""

    def __init__(self, interview: "Interview", *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.interview = interview
        self.session = interview.session
        self.loaded: int | None = None
        self._pending: set[str] = set()
        self._output: dict[str, Content] = {}
        self._task_shown = ""

    def compose(self) -> ComposeResult:
        """Tabs, three panes, a few lines of output."""
        yield TabStrip(id="tabs")
        with VerticalScroll(id="pane-task", classes="pane", can_focus=False):
            yield Static("", id="task", markup=False)
        with Vertical(id="pane-code", classes="pane current"):
            yield CodeEditor(id="editor")
        with Vertical(id="pane-explain", classes="pane"):
            yield Static(EXPLAIN, classes="muted", markup=False)
            yield AnswerBox(id="explained")
        yield Static("", id="output", markup=False)

    @property
    def run_screen(self) -> "RunScreen":
        """The screen, with its own type."""
        return cast("RunScreen", self.screen)

    @property
    def editor(self) -> CodeEditor:
        """The built-in editor."""
        return self.query_one("#editor", CodeEditor)

    @property
    def explanation(self) -> AnswerBox:
        """The field for the explanation."""
        return self.query_one("#explained", AnswerBox)

    def show(self, item: InterviewQuestion) -> Phase:
        """Show a question and return the phase. Its code is loaded only the first time."""
        if self.loaded != item.number:
            self.loaded = item.number
            self._show_task(_task(item))
            self.editor.load_text(self._left_outside(item) or item.code or item.coding.starter)
            self.explanation.load_text(item.typed)
            last = item.submissions[-1].verdict if item.submissions else None
            self._pending.clear()
            self._say("judge", _counts(last) if last else actions.name_keys(BEGIN))
        # The brief of the first stage is the question, so it comes before the code.
        self.go("task" if _in_stages(item) and not item.first_key_ms else "code")
        return Phase.CODING

    def _show_task(self, task: str) -> None:
        self._task_shown = task
        self.query_one("#task", Static).update(document(task))

    def collect(self, item: InterviewQuestion) -> None:
        """Hand what is in the fields to the session."""
        if self.loaded != item.number:
            return
        if self.editor.text != (item.code or item.coding.starter):
            self.session.write_code(self.editor.text)
        if self.explanation.text != item.typed:
            self.session.type(self.explanation.text)

    def go(self, name: str) -> None:
        """Bring a pane to the front."""
        panes = [pane for pane, _, _ in PANES]
        for pane in panes:
            self.query_one(f"#pane-{pane}").set_class(pane == name, "current")
        names = [f"{key} {title}" for _, key, title in PANES]
        tabs = self.query_one("#tabs", TabStrip)
        tabs.show(names, panes.index(name), lambda index: f"screen.pane('{panes[index]}')")
        if name == "code":
            self.editor.focus()
        elif name == "explain":
            self.explanation.focus()
        else:
            self.screen.set_focus(None)

    # running and submitting

    def _start(self, source: str, text: str) -> None:
        """Say that a check or a submission has started; the other may be running too."""
        self._pending.add(source)
        self._say(source, text)

    def _end(self, source: str, text: str, style: str) -> None:
        self._pending.discard(source)
        self._say(source, text, style)

    def _say(self, source: str, text: str, style: str = "$text-muted") -> None:
        """Show a few lines below the panes.

        Check and judge have separate lines, so that neither hides the progress or the result of the other.
        Older output disappears when either of them starts.
        """
        lines = escape_controls(text.strip()).splitlines()
        shown = lines if len(lines) <= OUTPUT_LINES else ["…", *lines[-OUTPUT_LINES:]]
        if source in self._pending:
            self._output = {name: text for name, text in self._output.items() if name in self._pending}
        self._output[source] = plain("\n".join(shown), style)
        self.query_one("#output", Static).update(Content("\n").join(self._output.values()))

    def check(self) -> None:
        """Run the learner's own check in a thread."""
        item = self.session.item
        if item is None:
            return
        source, module = self.editor.text, item.coding.module
        quiz, at_ms = self.run_screen.quiz, self.session.elapsed_ms
        self._start("check", "Running your module …")

        def work() -> None:
            checked = run_check(source, module)
            call_on_ui(quiz, self._show_check, item.number, checked, at_ms)

        run_in_thread(quiz, work, "check", exclusive=True)

    def _show_check(self, number: int, checked: SelfCheckResult, at_ms: int) -> None:
        item = self.session.item
        if item is None or item.number != number or not self.run_screen.stands:
            return
        if checked.counts:
            # A submission may have come while it ran.
            self.session.checked(checked.ok, at_ms)
        self._end("check", checked.output, "$success" if checked.ok and checked.counts else "$warning")

    def submit(self) -> None:
        """Submit the code as it stands now."""
        item = self.session.item
        if item is None or item.kind != "coding":
            return
        exercise = self.run_screen.quiz.bank.exercises.get(item.exercise)
        if exercise is None:
            self._end("judge", "The exercise is no longer in the bank.", "$error")
            return
        number, at_ms = item.number, self.session.elapsed_ms
        self._start("judge", "Submitted; the hidden tests are running …")

        def on_result(submission: "PendingSubmission", outcome: "Verdict | QuizError") -> None:
            if isinstance(outcome, QuizError):
                text, style = str(outcome), "$error"
            else:
                meaning = self.interview.submitted(number, submission.source, outcome.as_json(), at_ms)
                text, style = _counts(outcome.as_json()), "$success" if outcome.passed else "$warning"
                if meaning is not None:
                    text = f"{outcome_sentence(meaning)}\n{text}"
            if self.loaded == number and self.run_screen.stands:
                self._end("judge", text, style)
                self._reveal(item)

        stages = item.staged_run.shown if item.stages and item.slot != DEBUG else None
        self.run_screen.quiz.judge.submit(exercise, self.editor.text, "cpu", on_result, stages)

    def _reveal(self, item: InterviewQuestion) -> None:
        """Show the brief of a stage that the last verdict has revealed."""
        task = _task(item)
        if _in_stages(item) and task != self._task_shown:
            self._show_task(task)
            self.go("task")
            # The learner may have scrolled down to the interface; the new brief is at the top.
            self.query_one("#pane-task").scroll_home(animate=False)

    def edit(self) -> None:
        """Write the code in the learner's editor; the clock keeps running meanwhile."""
        from quizapp.tui.terminal import edit_file

        item = self.session.item
        if item is None or item.kind != "coding":
            return
        path = self._outside(item)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.editor.text, encoding="utf-8")
            edit_file(self.run_screen.quiz, path, self.editor.cursor_location[0] + 1)
            text = path.read_text(encoding="utf-8-sig")
            path.unlink()
        except (OSError, UnicodeDecodeError) as error:
            self._end("judge", f"{path} cannot be used: {error}", "$error")
            return
        happened = self.session.tick(present=True)
        if self.session.item is item:  # otherwise it was cut while the editor was open
            self.editor.load_text(text)
            self.collect(item)
        self.run_screen.react(happened)

    def _outside(self, item: InterviewQuestion) -> Path:
        """The file for another editor; its fixed place allows recovery if the terminal is lost meanwhile."""
        folder = paths.home() / "mock" / f"{self.interview.id}-{item.number}"
        return folder / item.coding.module

    def _left_outside(self, item: InterviewQuestion) -> str:
        """Code that another editor saved before the terminal was lost; usually empty."""
        try:
            return self._outside(item).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return ""


def _task(item: InterviewQuestion) -> str:
    """The task in Markdown; of a task in stages, as far as it is shown."""
    if not _in_stages(item):
        return item.asked.prompt
    return stage_task(item.asked.prompt, item.staged_run.shown_stages)


def _in_stages(item: InterviewQuestion) -> bool:
    return bool(item.stages) and item.slot != DEBUG


def _counts(verdict: Mapping[str, Any]) -> str:
    """How many hidden tests passed; nothing more is revealed before the end."""
    passed, number = sum(test["passed"] for test in verdict["tests"]), len(verdict["tests"])
    return f"{verdict['status']}: {passed} of {number} hidden tests held. The last submission counts."
