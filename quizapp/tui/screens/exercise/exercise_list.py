"""The list of exercises with their state."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input, Static

from quizapp.bank.model import Exercise
from quizapp.scheduling.views import CardFilter, ExerciseState
from quizapp.tui import actions
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.listed import Listed
from quizapp.tui.widgets.table import Table
from quizapp.util.sanitize import one_line
from quizapp.util.text import percent, plural

_STATES = {
    "due": ("↻ due", "$accent bold"),
    "started": ("◆ started", "$primary"),
    "passed": ("✓ passed", "$success"),
    "new": ("· new", "$text-muted"),
}


class Line(NamedTuple):
    """An exercise with its state and the number of its questions."""

    exercise: Exercise
    state: ExerciseState
    questions: int


def draw(line: Line, width: int) -> Content:
    """State, title, level, minutes; where there is room its questions, topic and best share."""
    exercise = line.exercise
    name, style = _STATES.get(line.state.state, (line.state.state, ""))
    right = f"{exercise.level:<6} {exercise.minutes:>3} min"
    if width >= 92:
        right += f"  {plural(line.questions, 'question'):>12}"
    if width >= 104:
        right = f"{one_line(exercise.topic):<16.16} {right}"
    if width >= 130:
        tried = line.state.submissions
        done = f"{percent(line.state.best)} in {plural(tried, 'submission')}" if tried else ""
        right = f"{done:<24}{right}"
    left = f" {name:<10}" if width >= 70 else f" {name[0]} "
    room = max(10, width - len(left) - len(right) - 2)
    title = Content(one_line(exercise.title)).truncate(room, ellipsis=True)
    gap = " " * (room - title.cell_length)
    return Content.assemble((left, style), title.stylize("bold"), gap, (f" {right}", "$text-muted"))


class ExercisesScreen(Listed[Line], Place):
    """Choose an exercise."""

    place = "exercises"
    BINDINGS: ClassVar[list[object]] = actions.bindings("exercises")  # type: ignore[assignment]
    CSS_PATH = "exercise_list.tcss"

    def body(self) -> ComposeResult:
        """A head line, the filter, the table."""
        yield Static("Exercises", classes="bar title", id="head", markup=False)
        with Container(id="middle"):
            yield Input(placeholder="name, topic, level or state", id="filter", compact=True)
            yield Table[Line](draw, "No exercise matches.", id="table")

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
        lines = [Line(one, states[slug], linked.get(slug, 0)) for slug, one in bank.exercises.items()]
        lines.sort(key=lambda line: one_line(line.exercise.title).casefold())
        words = self.query_one("#filter", Input).value.casefold().split()
        shown = [line for line in lines if all(word in _searched(line) for word in words)]
        table = self._table
        before = table.current.exercise.slug if table.current else ""
        slugs = [line.exercise.slug for line in shown]
        table.show(shown, slugs.index(before) if before in slugs else 0)
        passed = sum(line.state.state == "passed" for line in lines)
        head = Content.styled("Exercises", "bold $primary")
        head = head.append(Content.styled(f"  {passed} of {len(lines)} passed", "$text-muted"))
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
        line = self._table.current
        if line is not None:
            self.quiz.go("exercise", slug=line.exercise.slug)

    def action_questions(self) -> None:
        """Drill the questions that lead to the exercise."""
        line = self._table.current
        if line is not None:
            self.quiz.go("drill", flt=CardFilter(exercise=line.exercise.slug))

    def action_find(self) -> None:
        """Open the filter."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def action_leave_field(self) -> None:
        """Back to the list; an empty filter closes."""
        field = self.query_one("#filter", Input)
        field.display = bool(field.value)
        self.set_focus(None)


def _searched(line: Line) -> str:
    exercise = line.exercise
    text = f"{exercise.title} {exercise.slug} {exercise.topic} {exercise.level} {line.state.state}"
    return text.casefold()
