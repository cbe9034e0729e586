"""The desk of a live incident: its script, which opens with the commit, and the logs of its runs."""

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from quizapp.errors import QuizError
from quizapp.incidents.diagnosis import text_of
from quizapp.incidents.live.live_work import LoggedRun, RunCommand
from quizapp.incidents.live.run_log import LogRow, read_rows
from quizapp.incidents.live.script_file import ScriptFile
from quizapp.interview.session.live_sitting import LOCKED, LiveSitting, end_run
from quizapp.interview.session.question import InterviewQuestion
from quizapp.tui.actions import Phase
from quizapp.tui.bridges.script_bridge import ScriptBridge
from quizapp.tui.rendering.layout import hanging, wrap
from quizapp.tui.rendering.log_text import curves, tail
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.incidents.command_dialog import CommandDialog
from quizapp.tui.widgets.code_editor import CodeEditor

if TYPE_CHECKING:
    from quizapp.interview.service import Interview
    from quizapp.judge.protocol.scripts import ScriptRun
    from quizapp.tui.screens.interview.running import RunScreen

OPEN_TEXT = "Repair it, and add an assert as a guard that fails in the script as it was."
WAITING = "The judge runs the broken script once, for its log …"
BUSY = "A run is going on; ctrl+b stops one of yours."
TAIL = 200
CURVE_HEIGHT = 4
LOG_ROOM = 10
"""The rows that curves leave to what stands above and below them."""
PHASES = {"script": Phase.SCRIPT, "log": Phase.LOG}


class LogPane(Vertical):
    """The pane of the logs. It is redrawn when it gets its width, which is when it comes to the front."""

    def on_resize(self) -> None:
        """Draw the log for the width."""
        cast("LiveDesk", self.parent).show_log()


class LiveDesk(Horizontal):
    """Script and log side by side where there is room, else one at a time."""

    def __init__(self, interview: "Interview", *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.interview = interview
        self.sitting = LiveSitting(interview.session)
        self.loaded: int | None = None
        self._bridge: ScriptBridge | None = None
        self._file: ScriptFile | None = None
        self._current: LoggedRun | None = None
        self._lines: list[str] = []
        self._rows: list[LogRow] = []
        self._place = -1
        self._before: RunCommand | None = None
        self._started = 0.0
        self._scrolled: LoggedRun | None = None
        self._drawn: dict[Static, tuple[int, int]] = {}

    def compose(self) -> ComposeResult:
        """The script under a line on what can be done with it, and the log."""
        with Vertical(id="case-script"):
            yield Static("", id="lock", markup=False)
            yield CodeEditor(id="program")
        with LogPane(id="case-log"):
            yield Static("", id="run-head", markup=False)
            with VerticalScroll(id="run-lines", can_focus=False):
                yield Static("", id="run-log", markup=False)

    @property
    def run_screen(self) -> "RunScreen":
        """The screen, with its own type."""
        return cast("RunScreen", self.screen)

    @property
    def editor(self) -> CodeEditor:
        """The editor of the script."""
        return self.query_one("#program", CodeEditor)

    @property
    def item(self) -> InterviewQuestion | None:
        """The live incident in hand."""
        item = self.sitting.item
        return item if item is not None and item.number == self.loaded else None

    # showing

    def load(self, item: InterviewQuestion) -> None:
        """Show an incident the first time: its script, and the log of the broken run."""
        if self.loaded == item.number:
            return
        self.loaded = item.number
        work, task = item.live_work, item.live_task
        self._file = ScriptFile(task.name)
        self._before = RunCommand(task.steps, task.seed)
        source = work.script(task)
        try:
            source = self._file.begin(source, committed=work.committed)
        except QuizError as error:
            self.run_screen.quiz.say(str(error), bad=True)
        self.editor.load_text(source)
        self.collect(item)
        self._bridge = ScriptBridge(self.run_screen.quiz)
        self._place = len(work.runs) - 1
        self.show_lock()
        if work.broken_run is None:
            self._run_broken(item)
        else:
            self._bridge.warm()
        self.show_log()

    def show_lock(self) -> None:
        """Say whether the script can be edited."""
        item = self.item
        if item is None:
            return
        committed = item.live_work.committed
        self.editor.read_only = not committed
        text = LOCKED
        if committed:
            cause = text_of(item.incident.causes, item.diagnosis.cause)
            text = f"Committed: {cause}. {OPEN_TEXT}"
        style = "$text-muted" if committed else "$warning"
        self.query_one("#lock", Static).update(plain(text, style))

    def show_log(self) -> None:
        """Draw the run that is on show: its curves, what it says, and the list of all runs."""
        item = self.item
        if item is None:
            return
        pane, scroll = self.query_one("#case-log"), self.query_one("#run-lines", VerticalScroll)
        head, body = self.query_one("#run-head", Static), self.query_one("#run-log", Static)
        width = max(24, pane.size.width - 4)
        run = self._shown(item)
        if run is None:
            self._draw(head, wrap(Content.styled(WAITING, "$text-muted"), width), width)
            return
        is_current = run is self._current
        rows = self._rows if is_current else read_rows(run.log)
        log = self._lines if is_current else run.log.splitlines()
        drawn = curves(rows, item.live_task.fields, width)
        # A few lines of the log stay in sight below the curves, however low the terminal is.
        room = max(1, (pane.size.height - LOG_ROOM) // CURVE_HEIGHT) * CURVE_HEIGHT
        fitting = [row for line in drawn[:room] for row in _wrapped(line, width)]
        self._draw(head, [*self._head(item, run, width), *fitting], width)
        missing = "Nothing printed yet." if run.outcome == "running" else "Nothing was printed."
        # Of a run that goes on only what fits is drawn, because it is drawn five times a second.
        count = max(1, pane.size.height) if is_current else TAIL
        shown = tail(log, count, width) or [Content.styled(missing, "$text-muted")]
        if self._draw(body, shown, width) or run is not self._scrolled:
            self._scrolled = run
            self.run_screen.call_after_refresh(scroll.scroll_end, animate=False)

    def _draw(self, part: Static, lines: Sequence[Content], width: int) -> bool:
        """Show lines that fit the width; returns whether the part may have got another height.

        Only then is the screen laid out again, which costs more than drawing a part of it.
        """
        size = (width, len(lines))
        changed = self._drawn.get(part) != size
        self._drawn[part] = size
        part.update(Content("\n").join(lines), layout=changed)
        return changed

    def _shown(self, item: InterviewQuestion) -> LoggedRun | None:
        work = item.live_work
        if 0 <= self._place < len(work.runs):
            return work.runs[self._place]
        return work.broken_run or self._current

    def _head(self, item: InterviewQuestion, run: LoggedRun, width: int) -> list[Content]:
        work = item.live_work
        number = _number_of(item, run)
        title = f"Run {number} of {len(work.runs)}" if number else "The broken run"
        script = "" if not number else ", edited script" if run.edited else ", script as it was"
        head = Content.assemble((title, "bold"), (f"  {run.command.text}{script}", "$text-muted"))
        lines = [head.truncate(width, ellipsis=True)]
        if run.outcome == "running":
            lines.append(Content.styled(f"running, {monotonic() - self._started:.0f} s", "$primary"))
        else:
            text = f"{run.outcome} after {run.seconds:.1f} s" + (f": {run.text}" if run.text else "")
            style = "$success" if run.outcome == "ended" else "$warning"
            lines += hanging(Content(""), plain(text, style), width)
        if work.runs:
            lines += wrap(Content.styled("left and right show the other runs", "$text-muted"), width)
        return [*lines, Content("")]

    def tick(self) -> None:
        """Fetch what a run has printed, and what another editor has saved; called five times a second."""
        item = self.item
        if item is None or self._bridge is None:
            return
        if self._current is not None:
            fetched = self._bridge.lines()
            if fetched:
                self._append(fetched)
            if fetched or self._current.outcome == "running":
                self.show_log()
        self._look_at_file(item)

    def _append(self, lines: Sequence[str]) -> None:
        self._lines += lines
        del self._lines[:-TAIL]
        self._rows += read_rows("\n".join(lines))

    # the script

    def collect(self, item: InterviewQuestion) -> None:
        """Hand the script in the editor to the session, and write it to disk."""
        if self.loaded != item.number or not item.live_work.committed or self._file is None:
            return
        source = self.editor.text
        if source != item.live_work.script(item.live_task) and self.sitting.edit(source):
            try:
                self._file.write(source)
            except QuizError as error:
                self.run_screen.quiz.say(str(error), bad=True)

    def _look_at_file(self, item: InterviewQuestion) -> None:
        """Take over what another editor has saved, or put it back before a cause is committed."""
        if self._file is None:
            return
        quiz = self.run_screen.quiz
        try:
            text = self._file.edited_outside()
            if text is None:
                return
            if not item.live_work.committed:
                quiz.say(self._file.put_back(item.live_task.broken), bad=True)
            elif text.strip():
                place, scroll = self.editor.cursor_location, self.editor.scroll_offset
                self.editor.load_text(text)
                self.editor.move_cursor(place)
                self.editor.scroll_to(y=scroll.y, animate=False)
                self.collect(item)
                quiz.say("run.py was changed on disk; the change is in the editor.")
        except QuizError as error:
            quiz.say(str(error), bad=True)

    def edit_outside(self) -> None:
        """Open the script in the learner's own editor; the clock keeps running meanwhile."""
        from quizapp.tui.terminal import edit_file

        item, quiz = self.item, self.run_screen.quiz
        if item is None or self._file is None:
            return
        if not item.live_work.committed:
            quiz.say(LOCKED)
            return
        self.collect(item)
        edit_file(quiz, self._file.path, self.editor.cursor_location[0] + 1)
        happened = self.interview.session.tick(present=True)
        if self.item is item:  # otherwise it was cut while the editor was open
            self._look_at_file(item)
        self.run_screen.react(happened)

    def commit(self) -> None:
        """Ask whether to fix cause and place, which opens the script."""
        item, quiz = self.item, self.run_screen.quiz
        if item is None:
            return
        if item.live_work.committed:
            quiz.say("You have committed to a cause already; the script is open (f5).")
            return
        cause = text_of(item.incident.causes, item.diagnosis.cause)
        place = text_of(item.incident.places, item.diagnosis.place)
        if not (cause and place):
            quiz.say(self.sitting.commit())
            return

        def chosen(answer: str | None) -> None:
            if answer != "yes" or self.item is not item:
                return  # the clock may have cut the question while the dialog was open
            if problem := self.sitting.commit():
                quiz.say(problem)
                return
            self.interview.save()
            self.show_lock()
            self.run_screen.incident.go("script")

        entries = [("no", "Not yet"), ("yes", f"Commit: {cause} ({place})")]
        quiz.push_screen(Choose("Cause and place are fixed from then on", entries), chosen)

    # runs

    @property
    def is_running(self) -> bool:
        """Whether a run of the learner's goes on."""
        return self._current is not None

    def _run_broken(self, item: InterviewQuestion) -> None:
        """Run the broken script once, at no cost; its log is stored."""
        task = item.live_task
        run = LoggedRun(0, task.steps, task.seed, 0, edited=False, outcome="running")
        self._start(item, run, task.broken)

    def ask_run(self) -> None:
        """Ask for steps and seed, and run the script."""
        item, quiz = self.item, self.run_screen.quiz
        if item is None or self._before is None:
            return
        if self._current is not None:
            quiz.say(BUSY)
            return

        def chosen(command: RunCommand | None) -> None:
            if command is None or self.item is not item or self._current is not None:
                return
            self.collect(item)
            if problem := self.sitting.problem_with(command):
                quiz.say(problem, bad=True)
                return
            self._before = command
            source = item.live_work.script(item.live_task)
            run, happened = self.sitting.begin_run(command)
            self._place = len(item.live_work.runs) - 1
            self.interview.save()
            if not self.interview.session.ended:
                self._start(item, run, source)
                self.run_screen.incident.go("log")
            self.run_screen.react(happened)

        priced = not item.practice
        quiz.push_screen(
            CommandDialog("Run with steps and seed", item.live_task, self._before, priced=priced), chosen
        )

    def ask_command(self) -> None:
        """Ask for the command that reproduces the symptom."""
        item = self.item
        if item is None or self._before is None:
            return
        before = item.live_work.command or self._before

        def chosen(command: RunCommand | None) -> None:
            if command is not None and self.item is item:
                self.sitting.state(command)
                self.interview.save()
                self.run_screen.incident.changed()

        title = "The shortest command that shows the symptom"
        self.run_screen.quiz.push_screen(CommandDialog(title, item.live_task, before, priced=False), chosen)

    def _start(self, item: InterviewQuestion, run: LoggedRun, source: str) -> None:
        from quizapp.incidents.live.make_task import script_order

        assert self._bridge is not None
        self._current, self._lines, self._rows = run, [], []
        self._started = monotonic()
        order = script_order(item.live_task, source, run.command, measured=False)
        self._bridge.run(order, lambda outcome: self._ended(item, run, outcome))
        self.show_log()

    def _ended(self, item: InterviewQuestion, run: LoggedRun, outcome: "ScriptRun | QuizError") -> None:
        self._current = None
        if isinstance(outcome, QuizError):
            run.outcome, run.text = "failed", str(outcome)
            self.run_screen.quiz.say(run.text, bad=True)
        else:
            end_run(run, outcome)
        if not _number_of(item, run):
            item.live_work.broken_run = run if run.log else None
        self.interview.save()
        if self.run_screen.stands:
            self.show_log()
            self.run_screen.refresh_keys()

    def stop_run(self) -> None:
        """Stop the run that goes on."""
        item = self.item
        if item and self._bridge and self._current and _number_of(item, self._current):
            self._bridge.stop()
        else:
            self.run_screen.quiz.say("No run is going on.")

    def other_run(self, step: int) -> None:
        """Show the run before or after the one on show; before the first stands the broken run."""
        item = self.item
        if item is not None:
            self._place = max(-1, min(len(item.live_work.runs) - 1, self._place + step))
            self.show_log()

    def close(self) -> None:
        """Stop what runs and let the judge go."""
        if self._bridge is not None:
            self._bridge.close()
            self._bridge = None


def _wrapped(line: Content, width: int) -> list[Content]:
    """A line in as many rows as it takes; one that fits stays as it is, as the rows of a curve must."""
    return wrap(line, width) if line.cell_length > width else [line]


def _number_of(item: InterviewQuestion, run: LoggedRun) -> int:
    """The number of a run of the learner's, from 1; 0 for the broken run."""
    return next((number for number, row in enumerate(item.live_work.runs, 1) if row is run), 0)
