"""The first minute: what this is, three questions that can be skipped, and then the first card."""

from datetime import date
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from quizapp.errors import QuizError
from quizapp.scheduling.study_day import SystemClock
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.markdown import document
from quizapp.tui.screens.base import Place
from quizapp.tui.startup import mark_tour_seen
from quizapp.tui.widgets.pick_list import PickList
from quizapp.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from quizapp.settings.file import PlanValue

WELCOME = """## Welcome to quizapp

quizapp prepares you for an interview about training neural networks: it asks the questions that you are \
about to forget, grades code that you write from memory, and holds mock interviews against the clock. Each \
day it tells you what to do, and whether you are on track.

First three short questions, each of which you can skip; then comes the first card.
"""
DATE = """## When is your interview?

Write the day, such as `2026-12-24`, or how far away it is, such as `3 weeks`. If you do not know it yet, \
just press `enter`.
"""
ROLE = """## Which role is it for?

Its topics weigh more in the plan and in mock interviews.
"""
TIME = """## How many minutes a day do you have?

The plan never asks for more.
"""
READY = """## Ready

A card asks something. Say the answer aloud, or type it with `t`, and press `space` to see it. Tick what you \
said; `enter` takes the rating that is proposed. What you know comes back in days and later in weeks, what \
you missed in minutes, and `u` takes anything back.

`e` on a card opens its exercise: code that hidden tests grade. On the home screen, `m` is a mock interview. \
`?` shows what can be done, and `ctrl+p` finds any action by its name.
"""
PAGES = (WELCOME, DATE, ROLE, TIME, READY)
_DATE, _ROLE, _TIME, _READY = 1, 2, 3, 4
MINUTES = (15, 20, 30, 45, 60, 90, 120)
_USUAL_MINUTES = 30


class TourScreen(Place):
    """The first screen of a new user; later available from the home screen and the palette."""

    place = "tour"
    needs_data = False
    BINDINGS: ClassVar[list[object]] = actions.bindings("tour")  # type: ignore[assignment]
    CSS_PATH = "styles/tour.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._page = 0
        self._answers: dict[str, PlanValue] = {}
        self._phase = Phase.WELCOME

    def body(self) -> ComposeResult:
        """One page at a time: its text, and a field or a list to answer in."""
        yield Static("", id="head", classes="bar", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static("", id="page", markup=False)
            yield Input(id="date", placeholder="2026-12-24, or 3 weeks")
            yield PickList()
            yield Static("", id="summary", markup=False)

    def on_mount(self) -> None:
        """Show the first page."""
        self._show()

    def opened(self) -> None:
        """Save what was answered before the data was open."""
        self._save()

    def _show(self) -> None:
        page = self._page
        self.query_one("#page", Static).update(document(PAGES[page]))
        self.query_one("#date").display = page == _DATE
        self.query_one(PickList).display = page in {_ROLE, _TIME}
        summary = self.query_one("#summary", Static)
        summary.display = page == _READY
        if page == _DATE:
            self._show_date()
        else:
            self.set_focus(None)
        if page == _ROLE:
            roles = [("", "Any of them, or not sure yet"), *_roles()]
            self.query_one(PickList).show(roles, str(self._answer("role") or ""))
        elif page == _TIME:
            entries = [(str(minutes), f"{minutes} minutes") for minutes in MINUTES]
            self.query_one(PickList).show(entries, str(self._answer("minutes") or _USUAL_MINUTES))
        elif page == _READY:
            summary.update(self._summary())
        dots = "".join("● " if index <= page else "○ " for index in range(len(PAGES)))
        head = Content.styled("quizapp", "bold $primary").append(Content.styled(f"   {dots}", "$accent"))
        self.query_one("#head", Static).update(head)
        self.enter_phase({0: Phase.WELCOME, _READY: Phase.READY}.get(page, Phase.QUESTION))

    def _show_date(self) -> None:
        field = self.query_one("#date", Input)
        until = self._answer("date")
        field.value = field.value or (str(until) if until else "")
        field.focus()

    def _answer(self, key: str) -> "PlanValue":
        """What was answered here, or what the settings say."""
        if key in self._answers or not self.quiz.ready:
            return self._answers.get(key)
        plan = self.quiz.study.settings.plan
        return {"date": plan.until, "role": plan.role, "minutes": plan.minutes}[key]

    def _summary(self) -> Content:
        until, minutes = self._answer("date"), self._answer("minutes")
        when = f"Your interview: {until:%A}, {until.day} {until:%B %Y}" if isinstance(until, date) else ""
        role = dict(_roles()).get(str(self._answer("role")), "any role")
        parts = [when or "No date yet", f"{minutes} minutes a day" if minutes else "", role]
        text = Content.styled(", ".join(filter(None, parts)) + ".", "bold")
        return text.append(
            Content.assemble(
                ("\n\nenter", "bold $primary"), "  the first card\n",
                ("p    ", "bold $primary"), "  the plan: what to do each day until the interview" if when
                else "  the plan, once you set a date",
            )
        )  # fmt: skip

    def scroller(self) -> Widget:
        """The page."""
        return self.query_one("#scroll")

    def move(self, step: int) -> None:
        """Move in the list of a question."""
        if self._page in {_ROLE, _TIME}:
            self.query_one(PickList).move(step)
        else:
            super().move(step)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        """A click answers."""
        picks = self.query_one(PickList)
        picks.move(event.place - picks.cursor)
        self.action_page(1)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the typed date; an empty one means that it is not known yet."""
        from quizapp.scheduling.planner.interview_date import read_interview_date

        today = self.quiz.study.today() if self.quiz.ready else SystemClock().now().date()
        try:
            self._answers["date"] = read_interview_date(event.value, today)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self._turn(1)

    def action_leave_field(self) -> None:
        """Go on without a date."""
        self._turn(1)

    def action_page(self, direction: int) -> None:
        """Go to another page; forward takes the answer under the cursor, and the last page ends in a card."""
        if direction > 0 and self._page == _READY:
            self.action_start()
            return
        if direction > 0 and self._page in {_ROLE, _TIME}:
            value = self.query_one(PickList).value
            self._answers |= {"role": value or None} if self._page == _ROLE else {"minutes": int(value)}
        self._turn(direction)

    def _turn(self, direction: int) -> None:
        self._page = max(0, min(len(PAGES) - 1, self._page + direction))
        self._save()
        self._show()

    def _save(self) -> None:
        """Write the answers as soon as the data is open, so that leaving early loses none."""
        if self.quiz.ready and self._answers:
            self.quiz.save_settings({}, self._answers)
            self._answers = {}

    def action_start(self) -> None:
        """The first card."""
        self._go_on("drill")

    def action_plan(self) -> None:
        """The plan."""
        self._go_on("plan")

    def _go_on(self, place: str) -> None:
        mark_tour_seen()
        self.quiz.replace_screen(place)

    def action_skip(self) -> None:
        """Go to the home screen, and remember that the tour was seen."""
        mark_tour_seen()
        self.quiz.go_back(self)


def _roles() -> list[tuple[str, str]]:
    from quizapp.interview.blueprint import load_blueprint

    return [(name, role.title) for name, role in load_blueprint().roles.items()]
