"""The setup of a mock interview (role, length, code, seed), and the list of past interviews."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from quizapp.errors import QuizError
from quizapp.interview import RoundName, archive, trends
from quizapp.interview.blueprint import Blueprint, InterviewPlan, load_blueprint
from quizapp.interview.report.model import Report
from quizapp.interview.rounds.loop import LOOP, Loop, current_loop, minutes_of, next_text
from quizapp.interview.rounds.round_table import ROUNDS, find_round
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.layout import wrap
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.interview.start import StartScreen, unfinished_lines
from quizapp.tui.widgets.row_list import keep_in_view
from quizapp.util.sanitize import one_line
from quizapp.util.text import plural

FIELDS = ("role", "round", "minutes", "manner", "seed")


class MockScreen(StartScreen):
    """Sets up a mock interview; the arguments preset the fields."""

    place = "mock"
    BINDINGS: ClassVar[list[object]] = actions.bindings("mock")  # type: ignore[assignment]
    CSS_PATH = "styles/setup.tcss"

    def __init__(
        self,
        role: str | None = None,
        minutes: int | None = None,
        *,
        round_name: str = RoundName.MIXED,
        code: bool = True,
        spoken: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.role = role or ""
        self._is_role_open = False  # whether nothing says which role is rehearsed
        self.in_loop = round_name == LOOP
        self.loop: Loop | None = None
        self.round = find_round(RoundName.MIXED if self.in_loop else round_name)
        self.minutes = minutes or self.round.default_minutes
        self.code, self.spoken = code, spoken
        self.seed = seed
        self.cursor = 0
        self.blueprint: Blueprint | None = None
        self.reports: list[Report] = []
        self.blind: list[tuple[str, int]] = []

    def body(self) -> ComposeResult:
        """The fields, then the interviews so far."""
        yield Static("Mock interview", classes="bar title", id="head", markup=False)
        with Horizontal(id="entry"):
            yield Label("seed", id="name", markup=False)
            yield Input(id="seed", compact=True, select_on_focus=False, restrict=r"\d*", max_length=9,
                        placeholder="a number, then enter; leave it empty for a random one")  # fmt: skip
        with VerticalScroll(id="mock", can_focus=False):
            yield Static("", id="cut", markup=False)
            yield Static("", id="fields", markup=False)
            yield Static("", id="shape", markup=False)
            yield Static("", id="past", markup=False)

    def on_mount(self) -> None:
        """Show what there is once the data is open."""
        for name in ("#cut", "#fields", "#past"):
            self.query_one(name).auto_links = False
        self.query_one("#entry").display = False
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Read the blueprint and the interviews so far."""
        try:
            self.blueprint = load_blueprint()
        except QuizError as error:
            self.quiz.fail(str(error), error.exit_code)
            return
        self.returned()
        if not self.role:
            settings = self.quiz.study.settings
            wanted = [settings.plan.role or "", *settings.tracks]
            self.role = archive.first_role(self.blueprint, wanted, self.reports)
            self._is_role_open = not self.reports and self.role not in wanted
        self._look_for_loop()
        self._show()

    def returned(self) -> None:
        """Back from an interview or a report."""
        study = self.quiz.study
        self.look_for_unfinished()
        self.reports = archive.done(study)
        self.blind = archive.blind_queue(self.reports, study.clock.now())
        self.cursor = min(self.cursor, len(FIELDS) + len(self.reports) - 1)
        self._look_for_loop()
        self._show()

    def _look_for_loop(self) -> None:
        """Find the loop of the role that goes on, or make one; its next round is the one to sit."""
        if not self.in_loop or self.blueprint is None or not self.role:
            self.loop = None
            return
        self.loop = current_loop(self.quiz.study, self.blueprint.role(self.role))
        if (kind := self.loop.next_round) is not None:
            self.round, self.minutes = kind, minutes_of(kind)
            self.spoken = self.spoken and kind.may_be_spoken

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the width."""
        del event
        self._show()

    # drawing

    def _show(self) -> None:
        if self.blueprint is None or not self.role:
            return
        width = max(30, min(96, self.size.width - 6))
        plan = self._plan()
        if self.unfinished is not None:
            self._put("#cut", unfinished_lines(self.unfinished.document, width))
        self.query_one("#cut").display = self.unfinished is not None
        self._put("#fields", _fields(self._values(), self.cursor))
        shape = _shape(plan, self.blueprint.format.titles, width)
        if self.loop is not None and self.loop.reports:
            shape = [*wrap(Content.styled(next_text(self.loop), "bold"), width), *shape]
        self._put("#shape", shape)
        past_lines = _past_interviews(self.reports, self.role, self.round.name, self.cursor, width)
        self._put("#past", [*past_lines, *_remarking(self.reports, len(self.blind), width)])
        whole, cut = (
            (Phase.LIST, Phase.CUT_LIST) if self.cursor < len(FIELDS) else (Phase.PAST, Phase.CUT_PAST)
        )
        self.enter_phase(whole if self.unfinished is None else cut)

    def _put(self, name: str, lines: list[Content]) -> None:
        self.query_one(name, Static).update(Content("\n").join(lines))

    def _plan(self) -> InterviewPlan:
        assert self.blueprint is not None
        return self.blueprint.plan(
            self.role, self.minutes, code=self.code, round_name=self.round.name, spoken=self.spoken
        )

    def _manner(self) -> str:
        """How the interview is sat: with code or not, typed or spoken, as far as there is a choice."""
        assert self.blueprint is not None
        if self.round.may_be_spoken:
            return "spoken; nothing is typed" if self.spoken else "typed, as notes"
        if not self.round.has_code:
            return "typed"
        whole = self.blueprint.plan(self.role, self.minutes, round_name=self.round.name)
        code = "with code" if self.code else "without code"
        return code if whole.counts["coding"] else "without code: the time is too short"

    def _values(self) -> dict[str, str]:
        assert self.blueprint is not None
        hint = " (no role is set)" if self._is_role_open else ""
        random = "random, or type a number" if self._on_seed else "random"
        return {
            "role": self.blueprint.roles[self.role].title + hint,
            "round": f"Loop, round {self.loop.place}: {self.round.title}" if self.loop else self.round.title,
            "minutes": f"{self.minutes} minutes",
            "manner": self._manner(),
            "seed": str(self.seed) if self.seed is not None else random,
        }

    @property
    def _on_seed(self) -> bool:
        return self.cursor == FIELDS.index("seed")

    # acting

    def move(self, step: int) -> None:
        """To the next field or past interview."""
        last = len(FIELDS) + len(self.reports) - 1
        self.cursor = max(0, min(last, self.cursor + step))
        self._show()
        line = self.cursor if self.cursor < len(FIELDS) else self.cursor + 6
        scroll = self.query_one("#mock")
        keep_in_view(scroll, scroll, line, line)

    def action_at(self, index: int) -> None:
        """Go to the clicked line; if the cursor is there already, change the field or open the interview."""
        if index == self.cursor:
            if index < len(FIELDS):
                self.action_change(1)
            else:
                self.action_open()
            return
        self.cursor = index
        self._show()

    def action_change(self, step: int) -> None:
        """The next or the previous value of the field."""
        if self.blueprint is None:
            return
        name = FIELDS[self.cursor]
        if name == "role":
            self._is_role_open = False
            roles = list(self.blueprint.roles)
            self.role = roles[(roles.index(self.role) + step) % len(roles)]
            self._look_for_loop()
        elif name == "round":
            names = [*ROUNDS, LOOP]
            here = LOOP if self.in_loop else self.round.name
            self._change_round(names[(names.index(here) + step) % len(names)])
        elif name == "minutes" and self.loop is None:
            lengths = self.round.lengths
            self.minutes = lengths[(lengths.index(self.minutes) + step) % len(lengths)]
        elif name == "manner":
            self.code = self.code if self.round.may_be_spoken or self.loop else not self.code
            self.spoken = self.round.may_be_spoken and not self.spoken
        elif name == "seed":
            self.seed = max(0, (self.seed or 0) + step) if self.seed is not None or step > 0 else None
        self._show()

    def _change_round(self, name: str) -> None:
        self.in_loop = name == LOOP
        self._look_for_loop()
        if self.in_loop:
            return
        self.round = find_round(name)
        if self.minutes not in self.round.lengths:
            self.minutes = self.round.default_minutes
        self.spoken = self.spoken and self.round.may_be_spoken

    def action_seed(self) -> None:
        """Pick another random seed."""
        import secrets

        self.seed = secrets.randbelow(10_000)
        self._show()

    def action_type_seed(self, begun: str = "") -> None:
        """Open the field for a seed; ``begun`` is the first digit if one was typed."""
        self.cursor = FIELDS.index("seed")
        self._show()
        field = self.query_one("#seed", Input)
        field.value = begun or ("" if self.seed is None else str(self.seed))
        field.cursor_position = len(field.value)
        if not begun:
            field.select_all()
        self.query_one("#entry").display = True
        self.set_focus(field, scroll_visible=False)

    def on_key(self, event: events.Key) -> None:
        """Start typing the seed if a digit is pressed on its line."""
        digit = event.character or ""
        if self.blueprint is None or not self._on_seed or not digit.isdecimal():
            return
        if self.query_one("#entry").display:  # the key was pressed before the field had the focus
            self.query_one("#seed", Input).insert_text_at_cursor(digit)
        else:
            self.action_type_seed(digit)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Use the typed seed."""
        self.seed = int(event.value) if event.value else None
        self.action_leave_field()

    def action_leave_field(self) -> None:
        """Close the field."""
        self.query_one("#entry").display = False
        self.set_focus(None)
        self._show()

    def action_begin(self) -> None:
        """Assemble the paper and show the brief."""
        from quizapp.interview.service import Interview

        if self.must_finish_first():
            return
        try:
            interview = Interview.begin(
                self.quiz.study,
                self.role,
                self.minutes,
                round_name=self.round.name,
                code=self.code,
                spoken=self.spoken,
                seed=self.seed,
                blueprint=self.blueprint,
                loop=self.loop,
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        interview.start()
        self.sit(interview)

    def action_open(self) -> None:
        """The scorecard of a past interview."""
        from quizapp.tui.screens.interview.scorecard import CardScreen

        index = self.cursor - len(FIELDS)
        if 0 <= index < len(self.reports):
            self.quiz.push_screen(CardScreen(self.reports[index]))

    def action_history(self) -> None:
        """All interviews over time."""
        self.quiz.go("mockpast")

    def action_blind(self) -> None:
        """Mark an old answer again without seeing its marks."""
        if not self.blind:
            self.quiz.say("No old answer is due to be marked again. Every tenth comes back after three days.")
            return
        from quizapp.tui.screens.interview.blind_marking import BlindScreen

        name, number = self.blind[0]
        report = next(report for report in self.reports if report.id == name)
        self.quiz.push_screen(BlindScreen(report, number))


def _fields(values: Mapping[str, str], cursor: int) -> list[Content]:
    """The fields with their values, then the button that begins."""
    lines = []
    for index, (name, value) in enumerate(values.items()):
        here = index == cursor
        text = Content.assemble(
            ("▸ " if here else "  ", "$primary bold"), (f"{name:9}", "$text-muted"),
            ("◂ " if here else "  ", "$primary"), (value, "bold" if here else ""),
            (" ▸" if here else "", "$primary"),
        )  # fmt: skip
        lines.append(link(text, f"screen.at({index})"))
    return [*lines, Content(""), link("  ▶ Begin (enter)  ", "screen.begin", "bold reverse $primary")]


def _shape(plan: InterviewPlan, titles: Mapping[str, str], width: int) -> list[Content]:
    """What happens in the round, and for whom.

    No phase has its time here: only the drawn paper knows it, and the brief, the scorecard and the report
    show that one.
    """
    number = sum(plan.counts.values()) - plan.counts["coding"]
    asked = [titles[name] for name, seconds in plan.seconds.items() if seconds]
    # The nominal times may exceed the round, and then the paper leaves questions out.
    most = "At most " if sum(plan.seconds.values()) > 60 * plan.minutes else ""
    tasks = f"{most}{plural(number, 'question')}{' and a coding task' * plan.counts['coding']}"
    counts = f"{tasks}: {', '.join(asked)}. "
    end = f"The pass mark is {plan.role.pass_mark}. Nothing is revealed before the end."
    text = f"{plan.round.about} {counts if number else ''}{end}"
    return wrap(Content.styled(text, "$text-muted"), width)


def _past_interviews(
    reports: Sequence[Report], role: str, round_name: str, cursor: int, width: int
) -> list[Content]:
    """One line for each report, newest first, with rows counted from the last field."""
    if not reports:
        return [Content.styled("No interviews yet.", "$text-muted")]
    rows = enumerate(reports, len(FIELDS))
    return [
        _trend(reports, role, round_name),
        Content(""),
        *(link(_report(report, row == cursor, width), f"screen.at({row})") for row, report in rows),
    ]


def _report(report: Report, here: bool, width: int) -> Content:
    total, adjusted = report.totals.raw, report.totals.adjusted
    band = report.band.name
    color = "$success" if band in {"strong", "pass"} else "$warning"
    row = Content.assemble(
        ("▸ " if here else "  ", "$primary bold"), (report.started[:10], "bold" if here else ""),
        (f"  {total:>3}", f"bold {color}"), (f"  {band:6}", color),
        (f"  adjusted {adjusted:>3}" if width >= 70 else "", "$text-muted"),
        (f"  {report.minutes} min  {report.round_name:8}  {one_line(report.title)}", ""),
    )  # fmt: skip
    return row.truncate(width, ellipsis=True)


def _remarking(reports: Sequence[Report], blind: int, width: int) -> list[Content]:
    """How many old answers are due to be marked again, and how the marks have drifted."""
    lines: list[Content] = []
    if blind:
        text = f"b  {plural(blind, 'old answer')} to mark again blind"
        lines += [Content(""), link(text, "screen.blind", "$primary")]
    if drifted := archive.drift_text(reports):
        lines += [Content(""), *wrap(Content.styled(drifted, "$text-muted"), width)]
    return lines


def _trend(reports: Sequence[Report], role: str, round_name: str) -> Content:
    totals = trends.total_line(trends.oldest_first(reports, role, round_name)).known[-24:]
    title = Content.styled("Interviews so far", "bold").append(Content.styled("  t history", "$primary"))
    title = link(title, "screen.history")
    if len(totals) < 2:
        return title
    return title.append(Content.styled(f"  {trends.spark(totals)}", "$primary")).append(
        Content.styled(f"  {totals[0]} → {totals[-1]} in this round", "$text-muted")
    )
