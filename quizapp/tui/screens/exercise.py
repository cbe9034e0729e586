"""An exercise: task, code and verdict; a save grades, and no key waits for the judge."""

import difflib
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Input, Static, TextArea

from quizapp.errors import QuizError
from quizapp.judge.workspace import user_file
from quizapp.tui import keys
from quizapp.tui.markdown import document
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.place import Place
from quizapp.tui.syntax import highlight
from quizapp.tui.text import clean, clock, one_line
from quizapp.tui.widgets.codeeditor import CodeEditor
from quizapp.tui.widgets.verdictview import VerdictView

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.judge.verdict import Verdict
    from quizapp.store.documents import Submission

PANES = (("prompt", "f2", "Task"), ("code", "f3", "Code"), ("verdict", "f4", "Verdict"))
DEVICES = ("auto", "cpu", "cuda", "mps")


class ExerciseScreen(Place):
    """``slug`` names the exercise."""

    place = "exercise"
    BINDINGS: ClassVar[list[object]] = keys.bindings("exercise")  # type: ignore[assignment]
    CSS_PATH = "exercise.tcss"

    def __init__(self, slug: str, *, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self.slug = slug
        self.clock = clock
        self.opened_at = clock()
        self.path: Path | None = None
        self.saved = ""
        self.saved_at = 0.0
        self.graded = ""
        self.device = "auto"
        self.submissions = 0
        self.hints = 0
        self.passed = False
        self.asked_at = 0.0
        self.pane = "code"
        self._phase = "idle"
        self._loaded = False

    def body(self) -> ComposeResult:
        """Head, tabs for narrow screens, three panes."""
        yield Static("", id="head", classes="bar", markup=False)
        yield Static("", id="tabs", markup=False)
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
        """Open the exercise once the data is there."""
        self.query_one("#find").display = False
        self.set_interval(0.25, self._tick)
        self.set_interval(1.0, self._look_at_file)
        if self.quiz.ready:
            self.opened()

    @property
    def exercise(self) -> "Exercise":
        """The exercise itself."""
        return self.quiz.bank.exercises[self.slug]

    def opened(self) -> None:
        """Show the task and the user's file."""
        if self._loaded:
            return
        if self.slug not in self.quiz.bank.exercises:
            self.quiz.say(f"There is no exercise {self.slug!r}.", bad=True)
            self.call_later(self.quiz.go_back)
            return
        try:
            self.path = user_file(self.exercise)
            text = self.path.read_text(encoding="utf-8-sig")
        except (QuizError, OSError, UnicodeDecodeError) as error:
            self.quiz.say(f"The file cannot be opened: {error}", bad=True)
            self.call_later(self.quiz.go_back)
            return
        self._loaded = True
        self.opened_at = self.clock()
        self.query_one("#task", Static).update(document(self.exercise.prompt))
        self.view.exercise = self.exercise
        self._load(text)
        self._recall_last()
        self._fill_head()
        self.action_show("code")
        self.quiz.warm_judge()

    def _recall_last(self) -> None:
        """Show the last verdict again where the file has not changed since."""
        from quizapp.judge.verdict import Verdict

        past = self.quiz.study.submissions(self.slug)
        self.passed = self.quiz.study.exercise_state(self.slug).state == "passed"
        for submission in reversed(past):
            if submission.passed:
                break
            self.submissions += bool(submission.tests)
        if past and past[-1].source == self.saved and past[-1].verdict.get("schema"):
            try:
                self.view.verdict = Verdict.from_json(dict(past[-1].verdict))
            except (KeyError, TypeError):  # a verdict of another version: grade again
                return
            self.graded = self.saved
            self.view.changed()

    @property
    def editor(self) -> CodeEditor:
        """The built-in editor."""
        return self.query_one("#editor", CodeEditor)

    @property
    def view(self) -> VerdictView:
        """The verdict's widget."""
        return self.query_one("#view", VerdictView)

    def on_unmount(self) -> None:
        """Whatever was being graded is void."""
        self.quiz.grader.cancel()

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
            draft = self.path.with_name(f".{self.path.name}.saving")
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.path)
        except OSError as error:
            self.quiz.say(f"The file cannot be written: {error.strerror} ({self.path}).", bad=True)
            return False
        self.saved = text
        self.saved_at = self._changed_at()
        self._fill_head()
        return True

    def _look_at_file(self) -> None:
        """Another editor saved the file: take its text and grade it."""
        if not self._loaded or self.path is None or self.editor.text != self.saved:
            return
        changed_at = self._changed_at()
        if changed_at and changed_at != self.saved_at:
            self._reload(changed_at)

    def _reload(self, changed_at: float) -> None:
        assert self.path is not None
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.saved_at = changed_at
            self.quiz.say(f"The file cannot be read: {error}", bad=True)
            return
        changed = text != self.saved
        place = self.editor.cursor_location
        self._load(text)
        self.editor.move_cursor(place)
        if changed:
            self._grade()

    # grading

    def action_grade(self) -> None:
        """Save and grade."""
        if self._save():
            self._grade()

    action_save = action_grade

    def _grade(self) -> None:
        if not self._loaded:
            return
        self.graded = self.saved
        self.asked_at = self.clock()
        view = self.view
        view.running, view.message, view.verdict, view.stale, view.note = 0.0, "", None, False, ""
        view.changed()
        self.action_show("verdict", focus=False)
        self.enter_phase("judging")
        self.quiz.grader.submit(self.exercise, self.saved.encode(), self.device, self._told)

    def _told(self, found: "Verdict | QuizError") -> None:
        """The judge answered the last order."""
        view = self.view
        view.running = None
        self.enter_phase("idle")
        if isinstance(found, QuizError):
            view.message = str(found)
        else:
            view.verdict = found
            view.stale = self.editor.text != self.graded
            self._record(found)
        view.changed()
        self.query_one("#verdict").scroll_home(animate=False)
        self._fill_head()

    def _record(self, verdict: "Verdict") -> None:
        self.submissions += 1
        try:
            answered = self.quiz.study.record_verdict(
                self.slug,
                verdict.as_json(),
                source_text=self.graded,
                submissions=self.submissions,
                hints=self.hints,
                seconds=self.clock() - self.opened_at,
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        if verdict.passed:
            self.passed = True
            self.submissions, self.hints = 0, 0
            if answered is not None:
                self.view.note = f"Rated {answered.rating.label}; comes back in {answered.text}."

    def action_cancel(self) -> None:
        """Stop the grading at once."""
        self.quiz.grader.cancel()
        self.view.running = None
        self.view.message = "Stopped."
        self.view.changed()
        self.enter_phase("idle")

    def _tick(self) -> None:
        view = self.view
        if view.running is not None:
            view.running = self.clock() - self.asked_at
            view.refresh()
        self._fill_head()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """A verdict on older code is marked as such."""
        event.stop()
        stale = self.editor.text != self.graded
        if self.view.verdict is not None and self.view.stale != stale:
            self.view.stale = stale
            self.view.changed()

    # panes and head

    def _fill_head(self) -> None:
        if not self._loaded:
            return
        exercise = self.exercise
        width = self.size.width - 2
        unsaved = " ●" if self.editor.text != self.saved else ""
        timer = f"{clock(self.clock() - self.opened_at)} of {exercise.minutes}:00"
        right = f"{exercise.level} · {self.device} · {timer}"
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
        for name, _, _ in PANES:
            self.query_one(f"#{name}").set_class(name == pane, "current")
        parts = []
        for name, key, title in PANES:
            style = "bold reverse $primary" if name == pane else "$text-muted"
            text = f" {key} {title} "
            click = Style.from_meta({"@click": f"screen.show('{name}')"})
            parts.append(Content.styled(text, style).stylize(click, 0, len(text)))
        tabs = self.query_one("#tabs", Static)
        tabs.auto_links = False
        tabs.update(Content(" ").join(parts))
        if focus:
            if pane == "code":
                self.editor.focus()
            else:
                self.set_focus(None)

    def on_key(self, event: events.Key) -> None:
        """With no field in focus, the arrows scroll the pane in front."""
        if self.focused is None and event.key in {"up", "down", "pageup", "pagedown"} and self.pane != "code":
            step = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[event.key]
            self.query_one(f"#{self.pane}").scroll_relative(y=step, animate=False)
            event.stop()

    # actions

    def action_edit(self) -> None:
        """Hand the file to the user's editor; a change is graded."""
        from quizapp.tui.editor import edit

        if self.path is None or not self._save():
            return
        line = self.editor.cursor_location[0] + 1
        if edit(self.quiz, self.path, line):
            self._reload(self._changed_at())

    def action_hint(self) -> None:
        """The next hint, first those that help with what failed."""
        view = self.view
        failed = {test.behaviour for test in view.verdict.tests if not test.passed} if view.verdict else set()
        left = [hint for hint in self.exercise.hints if hint.text not in view.hints]
        left.sort(key=lambda hint: not failed & set(hint.behaviours) if hint.behaviours else 0)
        if not left:
            self.quiz.say("There is no further hint.")
            return
        view.hints.append(left[0].text)
        self.hints += 1
        view.changed()
        self.action_show("verdict", focus=False)
        self.call_after_refresh(self.query_one("#verdict").scroll_end, animate=False)

    def action_device(self) -> None:
        """Choose the device."""
        entries = [(name, name) for name in DEVICES]
        self.quiz.push_screen(
            Choose("Run the code on which device?", entries, self.device), self._chose_device
        )

    def _chose_device(self, device: str | None) -> None:
        if device:
            self.device = device
            self._fill_head()

    def action_past(self) -> None:
        """Past submissions, the newest first."""
        past = list(reversed(self.quiz.study.submissions(self.slug)))
        if not past:
            self.quiz.say("Nothing was submitted yet.")
            return
        entries = [(str(submission.id), _past_line(submission)) for submission in past]
        known = {str(submission.id): submission for submission in past}

        def chosen(value: str | None) -> None:
            if value:
                self._reopen(known[value])

        self.quiz.push_screen(Choose("Past submissions", entries), chosen)

    def _reopen(self, submission: "Submission") -> None:
        ways = [
            ("read", "Read it"),
            ("diff", "Compare it with the code now"),
            ("back", "Put it into the editor (ctrl+z takes it back)"),
        ]

        def chosen(way: str | None) -> None:
            if way == "read":
                self.quiz.read(_past_line(submission), f"```python\n{submission.source}\n```")
            elif way == "diff":
                self.quiz.read("From then to now", _diff(submission.source, self.editor.text))
            elif way == "back":
                editor = self.editor
                editor.replace(submission.source, (0, 0), editor.document.end)
                self.action_show("code")

        self.quiz.push_screen(Choose("This submission", ways), chosen)

    def action_diff(self) -> None:
        """What changed since the last submission."""
        past = [s for s in self.quiz.study.submissions(self.slug) if s.source != self.editor.text]
        if not past:
            self.quiz.say("Nothing differs from what was submitted.")
            return
        self.quiz.read("Since the last submission", _diff(past[-1].source, self.editor.text))

    def action_solution(self) -> None:
        """Show a solution: free after a pass, else on demand and rated Again."""
        if self.passed:
            self._show_solution()
            return
        ways = [("no", "No, I go on trying"), ("yes", "Show me: the exercise is rated Again")]
        self.quiz.push_screen(Choose("Show a solution before passing?", ways), self._chose_solution)

    def _chose_solution(self, way: str | None) -> None:
        if way != "yes":
            return
        try:
            self.quiz.study.record_verdict(
                self.slug,
                {"status": "failed", "passed": False},
                source_text=self.editor.text,
                submissions=self.submissions,
                hints=self.hints,
                opened_solution=True,
                seconds=self.clock() - self.opened_at,
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self._show_solution()

    def _show_solution(self) -> None:
        source = self.exercise.solution
        difference = _diff_lines(self.editor.text, source) if self.passed else Content("")
        text = highlight(clean(source))
        if difference:
            text = text.append(Content.styled("\n\nFrom your code to this one\n\n", "bold")).append(
                difference
            )
        self.quiz.read("A solution", text)

    def action_find(self) -> None:
        """Find in the code; asked again, find the next."""
        field = self.query_one("#find", Input)
        if field.display and field.value:
            self._find_next()
            return
        field.display = True
        self.action_show("code", focus=False)
        field.focus()
        self.enter_phase("find")

    def _find_next(self) -> None:
        if not self.editor.find(self.query_one("#find", Input).value):
            self.quiz.say("Not found.")

    def on_input_submitted(self) -> None:
        """Enter finds the next."""
        self._find_next()

    def action_close_find(self) -> None:
        """Close the search field."""
        self.query_one("#find").display = False
        self.enter_phase("idle")
        self.editor.focus()

    @property
    def phase(self) -> str:
        """Judging and finding go before typing, since escape means something else then."""
        if self._phase in {"judging", "find"}:
            return self._phase
        return super().phase

    def action_back(self) -> None:
        """Save and leave."""
        if self._loaded and not self._save():
            return
        self.quiz.go_back()

    def on_resize(self, event: Any) -> None:
        """The head line is laid out by width."""
        del event
        self._fill_head()


def _past_line(submission: "Submission") -> str:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(submission.time / 1000, UTC).astimezone()
    share = f"  {submission.tests_passed} of {submission.tests} tests" if submission.tests else ""
    return f"{when:%Y-%m-%d %H:%M}  {submission.status}{share}"


def _diff_lines(before: str, after: str) -> Content:
    lines = []
    for line in difflib.unified_diff(clean(before).splitlines(), clean(after).splitlines(), lineterm="", n=3):
        if line.startswith(("---", "+++")):
            continue
        style = {"+": "$success", "-": "$error", "@": "$primary"}.get(line[:1], "$text-muted")
        lines.append(Content.styled(line, style))
    return Content("\n").join(lines)


def _diff(before: str, after: str) -> Content:
    found = _diff_lines(before, after)
    return found or Content("No difference.")
