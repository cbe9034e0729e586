"""The list of exercises with their state."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input, Static

from quizapp.bank.model import Exercise
from quizapp.scheduling.views import CardFilter, ExerciseState
from quizapp.tui import actions
from quizapp.tui.screens.base import TablePlace
from quizapp.tui.widgets.table import Table
from quizapp.util.sanitize import one_line
from quizapp.util.text import percent, plural

_STATES = {
    "due": ("↻ due", "$accent bold"),
    "started": ("◆ started", "$primary"),
    "passed": ("✓ passed", "$success"),
    "complete": ("✔ complete", "$success bold"),
    "new": ("· new", "$text-muted"),
}


class ExerciseRow(NamedTuple):
    """An exercise with its state and the number of its questions."""

    exercise: Exercise
    state: ExerciseState
    questions: int


def format_row(row: ExerciseRow, width: int) -> Content:
    """State, title, open stage, level, minutes; where there is room its questions, topic and best share."""
    exercise = row.exercise
    name, style = _STATES.get(row.state.state, (row.state.state, ""))
    right = f"{exercise.level:<6} {exercise.minutes:>3} min"
    if width >= 92:
        right += f"  {plural(row.questions, 'question'):>12}"
    if width >= 104:
        right = f"{one_line(exercise.topic):<16.16} {right}"
    if width >= 130:
        tried = row.state.submissions
        done = f"{percent(row.state.best)} in {plural(tried, 'submission')}" if tried else ""
        right = f"{done:<24}{right}"
    if row.state.open_stage:
        right = f"{row.state.open_stage} open  {right}"
    left = f" {name:<10}" if width >= 70 else f" {name[0]} "
    room = max(10, width - len(left) - len(right) - 2)
    title = Content(one_line(exercise.title)).truncate(room, ellipsis=True)
    gap = " " * (room - title.cell_length)
    return Content.assemble((left, style), title.stylize("bold"), gap, (f" {right}", "$text-muted"))


class ExercisesScreen(TablePlace[ExerciseRow]):
    """Choose an exercise."""

    place = "exercises"
    BINDINGS: ClassVar[list[object]] = actions.bindings("exercises")  # type: ignore[assignment]
    CSS_PATH = "exercise_list.tcss"

    def body(self) -> ComposeResult:
        """A head line, the filter, the table."""
        yield Static("Exercises", classes="bar title", id="head", markup=False)
        with Container(id="middle"):
            yield Input(placeholder="name, topic, level or state", id="filter", compact=True)
            yield Table[ExerciseRow](format_row, "No exercise matches.", id="table")

    def on_mount(self) -> None:
        """Fill the table."""
        self.query_one("#filter").display = False
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Show the exercises that match the filter."""
        study, bank = self.quiz.study, self.quiz.bank
        states = study.exercise_states()
        linked: dict[str, int] = {}
        for question in bank.questions.values():
            linked[question.exercise] = linked.get(question.exercise, 0) + 1
        rows = [ExerciseRow(one, states[slug], linked.get(slug, 0)) for slug, one in bank.exercises.items()]
        rows.sort(key=lambda row: one_line(row.exercise.title).casefold())
        words = self.query_one("#filter", Input).value.casefold().split()
        shown = [row for row in rows if all(word in _searched(row) for word in words)]
        table = self.table
        before = table.current.exercise.slug if table.current else ""
        slugs = [row.exercise.slug for row in shown]
        table.show(shown, slugs.index(before) if before in slugs else 0)
        passed = sum(row.state.state in {"passed", "complete"} for row in rows)
        head = Content.styled("Exercises", "bold $primary")
        head = head.append(Content.styled(f"  {passed} of {len(rows)} passed", "$text-muted"))
        self.query_one("#head", Static).update(head)

    returned = opened

    def on_input_changed(self) -> None:
        """Filter as it is typed."""
        self.opened()

    def on_input_submitted(self) -> None:
        """Enter in the filter opens the first match."""
        self.action_leave_field()
        self.action_open()

    def on_table_chosen(self) -> None:
        """A click on the chosen row opens it."""
        self.action_open()

    def action_open(self) -> None:
        """Open the exercise."""
        row = self.table.current
        if row is not None:
            self.quiz.go("exercise", slug=row.exercise.slug)

    def action_questions(self) -> None:
        """Drill the questions that lead to the exercise."""
        row = self.table.current
        if row is not None:
            self.quiz.go("drill", flt=CardFilter(exercise=row.exercise.slug))

    def action_find(self) -> None:
        """Open the filter."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def action_leave_field(self) -> None:
        """Go back to the list; hide the filter if it is empty."""
        field = self.query_one("#filter", Input)
        field.display = bool(field.value)
        self.set_focus(None)


def _searched(row: ExerciseRow) -> str:
    exercise = row.exercise
    text = f"{exercise.title} {exercise.slug} {exercise.topic} {exercise.level} {row.state.state}"
    text += f" {row.state.open_stage} open" if row.state.open_stage else ""
    return text.casefold()
