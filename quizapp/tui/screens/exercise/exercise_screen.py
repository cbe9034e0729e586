"""An exercise: its task, the user's code, and the verdict of the hidden tests."""

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import TextArea

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.practice.practice_folder import PracticeMode
from quizapp.tui import actions, terminal
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.highlight import highlight
from quizapp.tui.screens.base import WITHOUT_DATA, Place
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.exercise.begin_run import BeginRun, begin_faults, begin_stages
from quizapp.tui.screens.exercise.edited_file import EditedFile
from quizapp.tui.screens.exercise.grading import DEVICES, ExerciseGrading
from quizapp.tui.screens.exercise.panes import SIDE_BY_SIDE, ExercisePanes
from quizapp.tui.screens.exercise.past_code import PastCode, diff_lines
from quizapp.tui.screens.exercise.worked_file import WorkedFile, open_work
from quizapp.tui.widgets.code_editor import CodeEditor
from quizapp.tui.widgets.head_line import HeadLine
from quizapp.tui.widgets.verdict_view import VerdictView
from quizapp.util.sanitize import escape_controls, one_line


class ExerciseScreen(Place):
    """``slug`` names the exercise, ``mode`` how it is practiced. No key ever waits for the judge."""

    place = "exercise"
    BINDINGS: ClassVar[list[object]] = actions.bindings("exercise")  # type: ignore[assignment]
    CSS_PATH = "exercise_screen.tcss"

    def __init__(
        self,
        slug: str,
        *,
        mode: PracticeMode | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self.slug = slug
        self.mode = mode
        self.clock = clock
        self.device = "auto"
        self._work: WorkedFile | None = None
        self._file: EditedFile | None = None
        self._grading: ExerciseGrading | None = None
        self._phase = Phase.IDLE

    def body(self) -> ComposeResult:
        """The head line, then the panes."""
        yield HeadLine("", id="head", classes="bar", markup=False)
        yield ExercisePanes()

    @property
    def exercise(self) -> Exercise:
        """The exercise itself."""
        return self.quiz.bank.exercises[self.slug]

    @property
    def panes(self) -> ExercisePanes:
        """Task, code and verdict."""
        return self.query_one(ExercisePanes)

    @property
    def editor(self) -> CodeEditor:
        """The built-in editor."""
        return self.panes.editor

    @property
    def view(self) -> VerdictView:
        """The verdict's widget."""
        return self.panes.view

    @property
    def file(self) -> EditedFile:
        """The user's file, once the exercise is open."""
        assert self._file is not None
        return self._file

    @property
    def grading(self) -> ExerciseGrading:
        """What grades the code, once the exercise is open."""
        assert self._grading is not None
        return self._grading

    # opening and closing

    def on_mount(self) -> None:
        """Open the exercise once the data is open."""
        self.set_interval(0.25, self._tick)
        self.set_interval(1.0, self._look_at_file)
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Show the task and the user's file."""
        if self._grading is not None:
            return
        if self.slug not in self.quiz.bank.exercises:
            self._give_up(f"There is no exercise {self.slug!r}.")
            return
        try:
            work = self._work = open_work(self.quiz.study, self.exercise, self.mode, self.clock)
            self._file = EditedFile(work.path)
        except (QuizError, OSError) as error:
            self._give_up(f"The exercise cannot be opened: {error}")
            return
        text = self._file.text
        self._grading = ExerciseGrading(
            self.quiz, self.exercise, work, self.view, self.clock, self._grading_ended
        )
        self.view.lists_behaviours = self.mode != PracticeMode.STAGES
        self.panes.show_task(work.task)
        self.editor.load_text(text)
        self._grading.show_last_verdict(text)
        self._show_head()
        is_narrow = self.app.size.width < SIDE_BY_SIDE
        self.panes.show("prompt" if is_narrow and work.is_untouched(text) else "code")
        self.quiz.warm_judge()

    def _give_up(self, sentence: str) -> None:
        self.quiz.say(sentence, bad=True)
        self.call_later(self.quiz.go_back, self)

    def waits(self, action: str) -> bool:
        """Whether an action must wait until the exercise is open."""
        closed = self._grading is None and action.partition("(")[0] not in WITHOUT_DATA
        return closed or super().waits(action)

    def closing(self) -> None:
        """Save the code when the program ends."""
        if self._file is not None:
            self._save()

    def action_back(self) -> None:
        """Save and leave."""
        if self._file is None or self._save():
            self.quiz.go_back(self)

    def on_unmount(self) -> None:
        """Cancel a running grading."""
        self.quiz.judge.cancel()

    @property
    def phase(self) -> Phase | None:
        """Judging and finding take precedence over typing, because escape cancels or closes them."""
        return self._phase if self._phase in {Phase.JUDGING, Phase.FIND} else super().phase

    def action_next_exercise(self) -> None:
        """Save, and open the exercise that comes next in place of this one."""
        if self._save():
            self.quiz.open_next_exercise(self.slug)

    # the file

    def _save(self) -> bool:
        try:
            self.file.save(self.editor.text)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return False
        self._show_head()
        return True

    def _look_at_file(self) -> None:
        """Save the code after a pause in typing; load and grade what another editor saved."""
        if self._file is None:
            return
        text = self.editor.text
        if text != self._file.text:
            if self._file.should_autosave(text):
                self._save()
        elif self._file.changed_outside():
            self._reload()

    def _reload(self) -> None:
        try:
            changed = self.file.read()
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        cursor = self.editor.cursor_location
        self.editor.load_text(self.file.text)
        self.editor.move_cursor(cursor)
        if changed:
            self._grade(asked=False)

    def action_edit(self) -> None:
        """Open the file in the user's editor, and grade a change."""
        if self._save():
            line = self.editor.cursor_location[0] + 1
            if terminal.edit_file(self.quiz, self.file.path, line):
                self._reload()

    # grading

    def action_grade(self) -> None:
        """Save and grade."""
        if self._save():
            self._grade(asked=True)

    def action_save(self) -> None:
        """Save; the verdict on a save counts only if it passes."""
        if self._save():
            self._grade(asked=False)

    def _grade(self, *, asked: bool) -> None:
        self.enter_phase(Phase.JUDGING)
        self.grading.submit(self.file.text, self.device, asked=asked)
        self.panes.show("verdict", focus=False)

    def _grading_ended(self) -> None:
        self.enter_phase(Phase.IDLE)
        self._compare()
        if self.grading.revealed and self._work is not None:
            self.panes.show_task(self._work.task)
            self.panes.pane("prompt").scroll_home(animate=False)
            self.panes.show("prompt", focus=False)
            self.quiz.say(self.view.note)
        self.panes.pane("verdict").scroll_home(animate=False)
        self._show_head()

    def action_all_messages(self) -> None:
        """Show the messages of all failures, or only those of the cause."""
        self.view.every_message = not self.view.every_message
        self.view.changed()
        self.panes.show("verdict")

    def action_rating(self) -> None:
        """Choose another rating for the last grade."""
        self.grading.choose_rating()

    def action_cancel(self) -> None:
        """Stop the grading at once."""
        self.grading.cancel()
        self.enter_phase(Phase.IDLE)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Mark a verdict on older code as outdated."""
        event.stop()
        self._compare()

    def _compare(self) -> None:
        if self._grading is not None and self._grading.compare(self.editor.text):
            self.panes.show_titles()

    def action_device(self) -> None:
        """Choose the device."""

        def chosen(device: str | None) -> None:
            if device:
                self.device = device
                self._show_head()

        self.quiz.push_screen(Choose("Run the code on which device?", DEVICES, self.device), chosen)

    def action_hint(self) -> None:
        """The next hint."""
        if not self.grading.show_hint():
            self.quiz.say("There is no further hint.")
            return
        self.panes.show("verdict", focus=False)
        self.call_after_refresh(self.panes.pane("verdict").scroll_end, animate=False)

    # past code and the solution

    def action_past(self) -> None:
        """Past versions of the code, the newest first."""
        self._past.choose()

    def action_diff(self) -> None:
        """What changed since the last submission."""
        self._past.compare()

    def action_reset(self) -> None:
        """Begin again from the starter; the code becomes a past version."""
        if self.mode is None:
            self._past.reset()
        else:
            self.quiz.say("ctrl+g begins a new interview run, and ctrl+l a new debugging run.")

    @property
    def _past(self) -> PastCode:
        return PastCode(self.quiz, self.exercise, self.editor, lambda: self.panes.show("code"))

    def action_solution(self) -> None:
        """Show a solution; before a pass, ask first and rate the exercise Again."""

        def chosen(way: str | None) -> None:
            if way == "yes" and self.grading.record_opened_solution(self.editor.text):
                self._show_solution()

        if self.mode == PracticeMode.FAULTS:
            self.quiz.say("The solution is this code without the faults; find them first.")
            return
        if self.grading.passed:
            self._show_solution()
            return
        ways = [("no", "No, I will keep trying"), ("yes", "Show me: the exercise is rated Again")]
        self.quiz.push_screen(Choose("Show a solution before passing?", ways), chosen)

    def _show_solution(self) -> None:
        source = self.exercise.solution
        text = highlight(escape_controls(source))
        difference = diff_lines(self.editor.text, source) if self.grading.passed else None
        if difference:
            text = text.append(Content.styled("\n\nFrom your code to this one\n\n", "bold")).append(
                difference
            )
        self.quiz.read("A solution", text)

    # other ways to practice it

    def action_stages(self) -> None:
        """Write it in interview mode; in it, offer a new run."""
        self._practice(PracticeMode.STAGES, begin_stages)

    def action_faults(self) -> None:
        """Debug the solution; in a debugging run, offer new faults."""
        self._practice(PracticeMode.FAULTS, begin_faults)

    def _practice(self, mode: PracticeMode, begin: BeginRun) -> None:
        """Begin or go on with a run; from within a run of the same mode, ask whether to begin a new one."""
        if not self._save():
            return
        if self.mode != mode:
            begin(self.quiz, self.exercise, restart=False)
            return

        def chosen(way: str | None) -> None:
            if way == "new":
                self._file = None  # so that nothing of this run is saved over the new one
                self.quiz.go_back(self)
                begin(self.quiz, self.exercise, restart=True)

        kept = f"Begin a new run; this code is kept as {self.file.path.stem}_previous.py"
        self.quiz.push_screen(Choose("A new run?", [("on", "Go on with this run"), ("new", kept)]), chosen)

    def action_review(self) -> None:
        """Save, and review other code for this exercise."""
        if self._save():
            self.quiz.go("review", slug=self.slug)

    # editing

    def action_select_all(self) -> None:
        """Select all of the code."""
        self.editor.select_all()

    def action_toggle_comment(self) -> None:
        """Comment the selected lines, or uncomment them."""
        self.editor.toggle_comment()

    # finding

    def action_find(self) -> None:
        """Open the search field; if it is open, find the next match."""
        if self.panes.open_find():
            self.enter_phase(Phase.FIND)
        else:
            self.on_input_submitted()

    def on_input_submitted(self) -> None:
        """Enter finds the next."""
        if not self.panes.find_next():
            self.quiz.say("Not found.")

    def action_close_find(self) -> None:
        """Close the search field."""
        self.enter_phase(Phase.IDLE)
        self.panes.close_find()

    # panes and the head line

    def action_show(self, pane: str) -> None:
        """Bring a pane to the front."""
        self.panes.show(pane)

    def action_enlarge(self) -> None:
        """Let the pane that takes the keys fill the screen, or bring the others back."""
        self.panes.enlarge("code" if self.focused is not None else self.panes.current)

    def refresh_keys(self) -> None:
        """Mark the pane that takes the keys as well."""
        super().refresh_keys()
        # A query and not `self.panes`: the focus may change before the panes are mounted.
        for panes in self.query(ExercisePanes):
            panes.mark_focus(writing=self.focused is not None)

    def on_key(self, event: events.Key) -> None:
        """Let the arrows scroll the current pane while no field has the focus."""
        step = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}.get(event.key)
        if step is not None and self.focused is None and self.panes.current != "code":
            self.panes.pane(self.panes.current).scroll_relative(y=step, animate=False)
            event.stop()

    def on_resize(self) -> None:
        """The head line is laid out by width."""
        self._show_head()

    def _tick(self) -> None:
        if self._grading is not None:
            self._grading.tick()
            self._show_head()

    def _show_head(self) -> None:
        if self._work is None or self._file is None or self._grading is None:
            return
        unsaved = " ●" if self.editor.text != self._file.text else ""
        device = "" if self.device == "auto" else f"on {self.device} · "
        level = "" if self.mode else f"{self.exercise.level} · "
        title = self._work.label + one_line(self.exercise.title) + unsaved
        self.query_one(HeadLine).show(title, f"{level}{device}{self._work.time()}", self.size.width - 2)
