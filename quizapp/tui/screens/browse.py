"""Browse: all questions in a table that filters while the user types, with a preview."""

from functools import lru_cache
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from quizapp.bank.model import Question
from quizapp.bank.parameters import sample_question
from quizapp.errors import QuizError
from quizapp.scheduling.views import EVERYTHING, CardFilter, CardSearch, SearchRow
from quizapp.tui import actions, terminal
from quizapp.tui.rendering.card_text import facts_text, question_text
from quizapp.tui.rendering.markdown import Document, phrase
from quizapp.tui.screens.base import TablePlace
from quizapp.tui.widgets.table import Table
from quizapp.util.sanitize import one_line
from quizapp.util.text import plural

NO_MATCH = """No question matches the whole filter. It searches prompts, answers and tags, and also knows:

- `topic:prec` `level:hard` `kind:numeric` `exercise:lora` `id:warm`
- `state:new` `state:learning` `state:review` `state:suspended` `state:flagged` `state:leech`
- `due:today` `due:tomorrow` `due:week` `due:14` (days)
"""

_LEVELS = {"easy": ("easy  ", "$success"), "medium": ("medium", "$warning"), "hard": ("hard  ", "$error")}


def format_row(row: SearchRow, width: int) -> Content:
    """Flag, level, kind, prompt, and when it is due."""
    question = row.question
    flagged = row.card is not None and row.card.flagged
    level, style = _LEVELS.get(question.level, (question.level, ""))
    due = row.state if row.days is None or row.state == "suspended" else _due(row.days)
    right = f"{due:>9} "
    if width >= 110:
        right = f"{question.topic:<17.17} {right}"
    kind = f" {question.kind:<7}" if width >= 70 else ""
    room = max(10, width - 9 - len(kind) - len(right) - 1)
    prompt = Content(_prompt(question)).truncate(room, ellipsis=True)
    gap = " " * (room - prompt.cell_length)
    return Content.assemble(
        ("⚑" if flagged else " ", "$accent bold"),
        (f" {level}", style),
        (kind, "$text-muted"),
        " ",
        prompt,
        gap,
        (" " + right, "$accent" if row.days is not None and row.days <= 0 else "$text-muted"),
    )


@lru_cache(4096)
def _prompt(question: Question) -> str:
    """The prompt on one line, with values filled in."""
    try:
        return phrase(one_line(sample_question(question, 0).prompt)).plain
    except QuizError:
        return one_line(question.prompt)


def _due(days: int) -> str:
    return "due" if days <= 0 else "tomorrow" if days == 1 else f"in {days} d"


class BrowseScreen(TablePlace[SearchRow]):
    """``query`` is the filter at the start."""

    place = "browse"
    BINDINGS: ClassVar[list[object]] = actions.bindings("browse")  # type: ignore[assignment]
    CSS_PATH = "styles/browse.tcss"

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self._first_query = query
        self._browser: CardSearch | None = None
        self._filter_timer: Timer | None = None
        self._preview_timer: Timer | None = None
        self._applied: str | None = None

    def body(self) -> ComposeResult:
        """The filter, the table, the preview."""
        yield Input(
            self._first_query,
            placeholder="words  topic:  level:  kind:  state:  due:",
            id="filter",
            compact=True,
        )
        yield Static("", id="count", classes="bar muted", markup=False)
        with Container(id="both"):
            yield Table[SearchRow](format_row, "No question matches.", id="table")
            with VerticalScroll(id="preview", classes="box", can_focus=False):
                yield Static("", id="text", markup=False)

    def on_mount(self) -> None:
        """Start in the filter."""
        self.query_one("#filter").focus()
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Fill the table."""
        self._browser = CardSearch(self.quiz.study)
        self._apply()

    def returned(self) -> None:
        """Other screens may have changed cards."""
        self._changed()

    def on_input_changed(self) -> None:
        """Filter after a short pause in typing; a leading slash only asks for this field."""
        field = self.query_one("#filter", Input)
        if field.value.startswith("/"):
            field.value = field.value[1:]
            return
        if self._filter_timer is not None:
            self._filter_timer.stop()
        self._filter_timer = self.set_timer(0.06, self._apply)

    def on_input_submitted(self) -> None:
        """Enter goes to the list."""
        self.action_leave_field()

    def _apply(self) -> None:
        if self._browser is None:
            return
        table, query = self.table, self.query_one("#filter", Input).value
        before = table.current
        # A row that was merely the first match while the query was being typed is not kept.
        held = before.question.id if before and (table.by_hand or query == self._applied) else ""
        self._applied = query
        rows = self._browser.rows(query)
        place = next((i for i, row in enumerate(rows) if row.question.id == held), None)
        table.by_hand = table.by_hand and place is not None
        table.show(rows, place or 0)
        self.query_one("#count", Static).update(Content(plural(len(rows), "question")))

    def _changed(self) -> None:
        if self._browser is not None:
            self._browser.refresh()
            self._apply()

    def on_table_moved(self) -> None:
        """Preview the row where the cursor comes to rest."""
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(0.05, self._preview)

    def _preview(self) -> None:
        row = self.table.current
        text = self.query_one("#text", Static)
        box = self.query_one("#preview")
        if row is None:
            text.update(Document(NO_MATCH))
            box.border_title = "Filter"
            return
        box.border_title = row.question.id
        text.update(Document(self._text(row)))
        box.scroll_home(animate=False)

    @staticmethod
    def _text(row: SearchRow) -> str:
        try:
            return question_text(row.question)
        except QuizError as error:
            return f"{row.question.prompt}\n\n{error}"

    def on_table_chosen(self) -> None:
        """A click on the chosen row reads it."""
        self.action_read()

    def action_find(self) -> None:
        """Go to the filter."""
        self.query_one("#filter").focus()

    def action_leave_field(self) -> None:
        """Leave the filter and go to the list."""
        self.set_focus(None)

    def action_first(self) -> None:
        """Go to the first row."""
        self.table.move_to(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.table.move_to(len(self.table.rows) - 1)

    def action_read(self) -> None:
        """Read the whole question."""
        row = self.table.current
        if row is not None:
            self.quiz.read(row.question.id, self._text(row))

    def action_drill(self) -> None:
        """Drill what the filter shows, whether it is due or not."""
        rows = self.table.rows
        if rows:
            ids = frozenset(row.question.id for row in rows)
            self.quiz.go("drill", flt=CardFilter(ids=ids, extra=EVERYTHING))

    def action_facts(self) -> None:
        """Show stability, due date and history of the card."""
        row = self.table.current
        if row is not None:
            study = self.quiz.study
            self.quiz.read(row.question.id, facts_text(study.card(row.question.id), study.clock.now()))

    def action_suspend(self) -> None:
        """Suspend the card, or resume it."""
        row = self.table.current
        if row is None:
            return
        suspended = row.card is not None and bool(row.card.suspended)
        study = self.quiz.study
        (study.unsuspend if suspended else study.suspend)(row.question.id)
        self.quiz.say("Resumed." if suspended else "Suspended; u takes it back.")
        self._changed()

    def action_flag(self) -> None:
        """Flag the card, or remove its flag."""
        row = self.table.current
        if row is None:
            return
        flagged = row.card is not None and bool(row.card.flagged)
        study = self.quiz.study
        (study.unflag if flagged else study.flag)(row.question.id)
        self._changed()

    def action_undo(self) -> None:
        """Undo the last action."""
        undone = self.quiz.study.undo()
        self.quiz.say(f"Undone: {undone.type} of {undone.card}." if undone else "Nothing to undo.")
        self._changed()

    def action_exercise(self) -> None:
        """Open the question's exercise."""
        row = self.table.current
        if row is not None:
            self.quiz.open_exercise(row.question.exercise)

    def action_source(self) -> None:
        """Open the question's file."""
        from quizapp.tui.terminal import open_source

        row = self.table.current
        if row is not None:
            open_source(self.quiz, row.question.file, row.question.line)

    def action_copy(self) -> None:
        """Copy the question with its answer."""
        row = self.table.current
        if row is not None:
            terminal.copy_text(self.quiz, self._text(row))
