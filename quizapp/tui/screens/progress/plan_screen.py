"""The plan: the date of the interview, what today brings, the forecast, and the choices."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.scheduling.next_step import open_tasks
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.plan_text import day_chart, recall_bar, today_lines
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.choose import Choose
from quizapp.tui.widgets.interview_outlook import days_text
from quizapp.util.text import percent, plural

if TYPE_CHECKING:
    from quizapp.scheduling.planner.choices import PlanOption
    from quizapp.scheduling.planner.plan import StudyPlan
    from quizapp.settings.file import PlanValue
    from quizapp.settings.model import Settings

MINUTES = (15, 20, 30, 45, 60, 90, 120, 180)
TARGETS = (0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.60, 0.50)
_SECTIONS = (
    ("interview", "Your interview"),
    ("forecast", "On the day"),
    ("now", "Today"),
    ("ways", "Choices"),
    ("days", "Day by day"),
)
_WIDEST = 100


class PlanScreen(Place):
    """Computes the plan in another process; all keys work meanwhile."""

    place = "plan"
    BINDINGS: ClassVar[list[object]] = actions.bindings("plan")  # type: ignore[assignment]
    CSS_PATH = "plan_screen.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._plan: StudyPlan | None = None
        self._options: list[PlanOption] = []
        self._before: list[Settings] = []
        self._save_typed: Callable[[str], None] = self._save_date

    def body(self) -> ComposeResult:
        """A head line, a field for the date or the new cards, the sections."""
        yield Static("", id="head", classes="bar", markup=False)
        with Horizontal(id="entry"):
            yield Label("", id="asked", markup=False)
            yield Input(id="field", compact=True)
        with VerticalScroll(id="scroll", can_focus=False):
            for name, title in _SECTIONS:
                with Vertical(id=name, classes="box") as box:
                    box.border_title = title
                    text = Static("", markup=False)
                    text.auto_links = False
                    yield text

    def on_mount(self) -> None:
        """Plan once the data is open."""
        self.query_one("#entry").display = False
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Show the date, and compute the plan to it."""
        self._plan, self._options = None, []
        until = self._settings.plan.until
        if until is None or until <= self.quiz.study.today():
            self.quiz.plans.stop()
            self.enter_phase(Phase.NONE)
        else:
            self.enter_phase(Phase.LOADING)
            self.quiz.plans.compute(self._planned)
        self._show()

    def on_unmount(self) -> None:
        """A plan that nobody waits for need not be finished."""
        self.quiz.plans.stop()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        if self.quiz.ready:
            self._show()

    @property
    def _settings(self) -> "Settings":
        return self.quiz.study.settings

    def _planned(self, plan: "StudyPlan | None") -> None:
        if not self.stands:
            return
        if plan is None:
            self.enter_phase(Phase.NONE)
            self.quiz.say("There is nothing to plan: there are no cards, or all are suspended.", bad=True)
            return
        from quizapp.scheduling.planner.choices import plan_options
        from quizapp.scheduling.planner.outlook import keep_outlook, outlook_of

        keep_outlook(self.quiz.study, outlook_of(plan))
        self._plan, self._options = plan, plan_options(plan, self._settings)
        self.enter_phase(Phase.READY)
        self._show()

    # what is shown

    def _show(self) -> None:
        width = min(_WIDEST, self.size.width) - 8
        head = Content.styled("Plan", "bold $primary")
        if self.phase == Phase.LOADING:
            head = head.append(Content.styled("  computing, a few seconds…", "$accent"))
        self.query_one("#head", Static).update(head)
        self._fill("interview", self._interview_lines(width))
        plan = self._plan
        self._fill("forecast", self._forecast_lines(plan, width) if plan else ())
        self._fill("now", self._today(plan, width) if plan else ())
        self._fill("ways", self._choice_lines(width) if plan else ())
        self._fill("days", day_chart(plan.days, min(80, width)) if plan else ())

    def _today(self, plan: "StudyPlan", width: int) -> list[Content]:
        """What the plan brings today, then the stages and code reviews that are open besides."""
        from quizapp.scheduling.planner.plan_sentences import besides

        lines = today_lines(plan, self.quiz.bank, width)
        for sentence in besides(open_tasks(self.quiz.study), self.quiz.bank.exercises):
            lines += Content(sentence).wrap(width)
        return lines

    def _fill(self, section: str, lines: Iterable[Content]) -> None:
        box = self.query_one(f"#{section}")
        rows = list(lines)
        box.display = bool(rows)
        box.query_one(Static).update(Content("\n").join(rows))

    def _interview_lines(self, width: int) -> list[Content]:
        plan, today = self._settings.plan, self.quiz.study.today()
        if plan.until is None:
            when = "not set; set it to plan the days until then"
        else:
            days = (plan.until - today).days
            when = f"{plan.until:%A}, {plan.until.day} {plan.until:%B %Y}: "
            when += days_text(days) if days >= 0 else "over"
        minutes = f"{plan.minutes} a day" if plan.minutes else "as many as your daily limits take"
        rows = (
            ("date", "d", "Date", when),
            ("minutes", "m", "Minutes", minutes + _exceptions(plan.weekdays, plan.minutes)),
            ("new_cards", "n", "New cards", f"at most {self._settings.new_per_day} a day"),
            ("role", "r", "Role", self._roles().get(plan.role, plan.role) or "any"),
            ("target", "t", "Target", f"recall {percent(plan.target)} on the day"),
        )
        lines = []
        for action, key, name, value in rows:
            first = Content.assemble(link(f"{key} ", f"screen.{action}", "bold $primary"), f"{name:<11}")
            lines += hanging(first, Content.styled(value, "bold"), width)
        if plan.leave_out:
            first = Content(f"  {'Left out':<11}")
            lines += hanging(first, Content.styled(", ".join(plan.leave_out), "bold"), width)
        return lines

    def _forecast_lines(self, plan: "StudyPlan", width: int) -> list[Content]:
        from quizapp.scheduling.planner.plan_sentences import verdict

        _, _, *sentences = verdict(plan, self._settings)
        lines = recall_bar(plan, min(60, width))
        for sentence in sentences:
            lines += hanging(Content(""), Content(sentence.replace("\xa0", " ")), width)
        return lines

    def _choice_lines(self, width: int) -> list[Content]:
        if not self._options:
            return hanging(
                Content(""), Content("Your settings fit the plan, and it reaches the target."), width
            )
        lines: list[Content] = []
        for number, option in enumerate(self._options):
            key = link(f"{number + 1} ", f"screen.apply({number})", "bold $primary")
            first = key if option.can_be_applied else Content("  ")
            lines += hanging(first, Content.styled(option.title, "bold"), width)
            for sentence in option.why:
                lines += hanging(Content("  "), Content(sentence.replace("\xa0", " ")), width)
        return lines

    def _roles(self) -> dict[str, str]:
        from quizapp.interview.blueprint import load_blueprint

        return {name: role.title for name, role in load_blueprint().roles.items()}

    def scroller(self) -> Widget:
        """The sections scroll as one."""
        return self.query_one("#scroll")

    # what can be changed

    def offers(self, act: actions.Act) -> bool:
        """Offer the choices that exist, and to undo one that was made."""
        if act.action.startswith("apply("):
            return self._can_apply(int(act.action[6:-1]))
        return bool(self._before) if act.action == "undo" else super().offers(act)

    def key_text(self, act: actions.Act) -> str:
        """One entry of the key bar stands for the keys of all choices."""
        last = sum(option.can_be_applied for option in self._options)
        if act.action == "apply(0)" and last > 1 and act.key_list() == ("1",):
            return f"1-{last}"
        return super().key_text(act)

    def _can_apply(self, number: int) -> bool:
        return number < len(self._options) and self._options[number].can_be_applied

    def action_apply(self, number: int) -> None:
        """Write the settings of a choice, and plan again."""
        if self._can_apply(number):
            option = self._options[number]
            self._save(dict(option.settings), dict(option.plan), f"{option.title} u takes it back.")

    def action_undo(self) -> None:
        """Restore the settings before the last choice."""
        if not self._before:
            self.quiz.say("Nothing to undo here.")
            return
        before, now = self._before.pop(), self._settings
        keys = ("desired_retention", "new_per_day", "reviews_per_day")
        values = {key: getattr(before, key) for key in keys if getattr(before, key) != getattr(now, key)}
        old = before.plan
        plan = {
            "date": old.until,
            "minutes": old.minutes or None,
            "role": old.role or None,
            "target": old.target,
            "leave_out": list(old.leave_out) or None,
        }
        if self.quiz.save_settings(values, plan):
            self.quiz.say("Undone.")
            self.opened()

    def _save(self, values: "dict[str, float]", plan: "dict[str, PlanValue]", notice: str = "") -> None:
        before = self._settings
        if self.quiz.save_settings(values, plan):
            self._before.append(before)
            if notice:
                self.quiz.say(notice)
            self.opened()

    def action_export(self) -> None:
        """Write the plan as a calendar file."""
        if self._plan is None:
            return
        from quizapp.exchange.plan_calendar import write_calendar

        study, path = self.quiz.study, paths.home() / "exports" / "plan.ics"
        try:
            write_calendar(self._plan, path, study.bank, study.now(), self._settings.plan.role)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.quiz.say(f"Written: {path}. Import it into your calendar; a later one updates its events.")

    def action_date(self) -> None:
        """Open the field for the date."""
        until = self._settings.plan.until
        value = until.isoformat() if until else ""
        self._ask("Date, or 3 weeks (empty: none):", value, "2026-12-24", self._save_date)

    def action_new_cards(self) -> None:
        """Open the field for the number of new cards a day."""
        value = str(self._settings.new_per_day)
        self._ask("New cards a day at most:", value, "20", self._save_new_cards)

    def _ask(self, label: str, value: str, example: str, save: Callable[[str], None]) -> None:
        """Open the field; ``save`` takes what is typed, or raises."""
        self._save_typed = save
        self.query_one("#asked", Label).update(label)
        field = self.query_one("#field", Input)
        field.value, field.placeholder = value, example
        self.query_one("#entry").display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed; a mistake is named, and the field stays open."""
        try:
            self._save_typed(event.value)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)

    def _save_date(self, typed: str) -> None:
        from quizapp.scheduling.planner.interview_date import read_interview_date

        until = read_interview_date(typed, self.quiz.study.today())
        self.action_leave_field()
        self._save({}, {"date": until})

    def _save_new_cards(self, typed: str) -> None:
        from quizapp.settings.checks import WrongValue
        from quizapp.settings.model import BY_KEY

        text = typed.strip()
        number = int(text) if text.isascii() and text.isdecimal() else -1
        try:
            BY_KEY["new_per_day"].check(number)
        except WrongValue as error:
            raise QuizError(f"New cards a day must be {error}.") from error
        self.action_leave_field()
        self._save({"new_per_day": number}, {})

    def action_leave_field(self) -> None:
        """Close the field."""
        self.query_one("#entry").display = False
        self.set_focus(None)

    def action_minutes(self) -> None:
        """Choose the minutes a day."""
        entries = [("0", "as many as my daily limits take"), *((str(n), f"{n} minutes") for n in MINUTES)]
        self._choose("How many minutes a day?", entries, "minutes", int, str(self._settings.plan.minutes))

    def action_role(self) -> None:
        """Choose the role."""
        entries = [("", "Any role"), *self._roles().items()]
        self._choose("Which role do you interview for?", entries, "role", str, self._settings.plan.role)

    def action_target(self) -> None:
        """Choose the target."""
        entries = [(str(share), percent(share)) for share in TARGETS]
        self._choose("Recall how much on the day?", entries, "target", float, str(self._settings.plan.target))

    def _choose(
        self, title: str, entries: list[tuple[str, str]], key: str, kind: "type[int | float | str]", now: str
    ) -> None:
        def chosen(value: str | None) -> None:
            if value is not None:
                self._save({}, {key: kind(value) or None})

        self.quiz.push_screen(Choose(title, entries, now), chosen)


def _exceptions(weekdays: "Mapping[int, int]", usual: int) -> str:
    """Days with other minutes, such as ``; Sun free``."""
    from quizapp.settings.model import WEEKDAYS

    names = [
        f"{WEEKDAYS[day].capitalize()} {plural(minutes, 'minute') if minutes else 'free'}"
        for day, minutes in sorted(weekdays.items())
        if minutes != usual
    ]
    return f"; {', '.join(names)}" if names else ""
