"""Mock interview, before it begins: role, length, code, seed; and the interviews so far."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from quizapp.errors import QuizError
from quizapp.interview import past, trend
from quizapp.interview.blueprint import LENGTHS, Blueprint, load_blueprint
from quizapp.tui import keys
from quizapp.tui.screens import mockkeys
from quizapp.tui.screens.place import Place
from quizapp.tui.text import clock, one_line, plural
from quizapp.tui.widgets.lines import hanging

if TYPE_CHECKING:
    from quizapp.interview.interview import Interview
    from quizapp.store.documents import MockDocument

assert mockkeys  # importing it adds the actions to the table
FIELDS = ("role", "minutes", "code", "seed")


class MockScreen(Place):
    """``role``, ``minutes``, ``code`` and ``seed`` preset the fields; ``resume`` goes straight on."""

    place = "mock"
    BINDINGS: ClassVar[list[object]] = keys.bindings("mock")  # type: ignore[assignment]
    CSS_PATH = "mock.tcss"

    def __init__(
        self,
        role: str | None = None,
        minutes: int | None = None,
        *,
        code: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.role = role or ""
        self.minutes = minutes or 30
        self.code = code
        self.seed = seed
        self.cursor = 0
        self.blueprint: Blueprint | None = None
        self.unfinished: MockDocument | None = None
        self.reports: list[Mapping[str, Any]] = []
        self.blind: list[tuple[str, int]] = []

    def body(self) -> ComposeResult:
        """Fields, then history."""
        yield Static("Mock interview", classes="bar title", id="head", markup=False)
        with VerticalScroll(id="mock", can_focus=False):
            yield Static("", id="cut", markup=False)
            yield Static("", id="fields", markup=False)
            yield Static("", id="shape", markup=False)
            yield Static("", id="past", markup=False)

    def on_mount(self) -> None:
        """Show once the data is open."""
        for name in ("#cut", "#fields", "#past"):
            self.query_one(name).auto_links = False
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
            tracks = [t for t in self.quiz.study.settings.tracks if t in self.blueprint.roles]
            latest = [r["role"] for r in self.reports if r["role"] in self.blueprint.roles]
            self.role = [*tracks, *latest, *self.blueprint.roles][0]
        self._show()

    def returned(self) -> None:
        """Back from an interview or a report."""
        study = self.quiz.study
        self.unfinished = past.running(study)
        self.reports = past.done(study)
        self.blind = past.blind_queue(self.reports, study.clock.now())
        self.cursor = min(self.cursor, len(FIELDS) + len(self.reports) - 1)
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the width."""
        del event
        self._show()

    # drawing

    def _show(self) -> None:
        if self.blueprint is None or not self.role:
            return
        width = max(30, min(96, self.size.width - 6))
        self.query_one("#cut", Static).update(self._cut_text(width))
        self.query_one("#cut").display = self.unfinished is not None
        self.query_one("#fields", Static).update(Content("\n").join(self._fields()))
        self.query_one("#shape", Static).update(self._shape(width))
        self.query_one("#past", Static).update(Content("\n").join(self._past(width)))
        phase = "list" if self.cursor < len(FIELDS) else "past"
        self.enter_phase(phase if self.unfinished is None else f"cut-{phase}")

    def _cut_text(self, width: int) -> Content:
        if self.unfinished is None:
            return Content("")
        document = self.unfinished.document
        state = document["running"]["state"]
        said = "waits to be marked" if state == "ended" else "is not finished; its clock went on"
        text = f"An interview of {document['minutes']} minutes ({document['title']}) {said}."
        link = Content.styled("r resume", "bold $primary")
        link = link.stylize(Style.from_meta({"@click": "screen.resume"}), 0, len("r resume"))
        return Content("\n").join(
            [*hanging(Content("! "), Content.styled(text, "bold $warning"), width), link]
        )

    def _values(self) -> dict[str, str]:
        assert self.blueprint is not None
        return {
            "role": self.blueprint.roles[self.role].title,
            "minutes": f"{self.minutes} minutes",
            "code": "with code" if self.code else "without code",
            "seed": "drawn fresh" if self.seed is None else str(self.seed),
        }

    def _fields(self) -> list[Content]:
        lines = []
        for index, (name, value) in enumerate(self._values().items()):
            here = index == self.cursor
            mark = "▸ " if here else "  "
            text = Content.assemble(
                (mark, "$primary bold"), (f"{name:9}", "$text-muted"),
                ("◂ " if here else "  ", "$primary"), (value, "bold" if here else ""),
                (" ▸" if here else "", "$primary"),
            )  # fmt: skip
            lines.append(text.stylize(Style.from_meta({"@click": f"screen.at({index})"}), 0, len(text.plain)))
        start = Content.styled("  ▶ Begin (enter)  ", "bold reverse $primary")
        return [*lines, Content(""), start.stylize(Style.from_meta({"@click": "screen.begin"}), 0, 18)]

    def _shape(self, width: int) -> Content:
        assert self.blueprint is not None
        plan = self.blueprint.plan(self.role, self.minutes, code=self.code)
        phases = ", ".join(
            f"{self.blueprint.format.titles[phase]} {clock(seconds)}"
            for phase, seconds in plan.seconds.items() if seconds
        )  # fmt: skip
        questions = sum(plan.counts.values()) - plan.counts["coding"]
        counts = plural(questions, "question")
        if plan.counts["coding"]:
            counts += f" and {plural(plan.counts['coding'], 'coding task')}"
        about = plan.role.about.rstrip(".")
        end = f"Passes at {plan.role.pass_mark}. Nothing is revealed before the end."
        text = f"{about}. {counts}; {phases}. {end}"
        return Content("\n").join(Content.styled(text, "$text-muted").wrap(width))

    def _past(self, width: int) -> list[Content]:
        if not self.reports:
            return [Content.styled("No interview yet.", "$text-muted")]
        lines = [self._trend(), Content("")]
        for index, document in enumerate(self.reports):
            here = index + len(FIELDS) == self.cursor
            total, adjusted = document["totals"]["raw"], document["totals"]["adjusted"]
            band = document["band"]["name"]
            colour = {"strong": "$success", "pass": "$success"}.get(band, "$warning")
            row = Content.assemble(
                ("▸ " if here else "  ", "$primary bold"), (document["started"][:10], "bold" if here else ""),
                (f"  {total:>3}", f"bold {colour}"), (f"  {band:6}", colour),
                (f"  adjusted {adjusted:>3}" if width >= 70 else "", "$text-muted"),
                (f"  {document['minutes']} min  {one_line(document['title'])}", ""),
            )  # fmt: skip
            link = Style.from_meta({"@click": f"screen.at({index + len(FIELDS)})"})
            lines.append(row.truncate(width, ellipsis=True).stylize(link, 0, width))
        if self.blind:
            text = f"b  {plural(len(self.blind), 'old answer')} to mark again blind"
            again = Style.from_meta({"@click": "screen.blind"})
            lines += [Content(""), Content.styled(text, "$primary").stylize(again, 0, len(text))]
        if drifted := past.drift_text(self.reports):
            lines += [Content(""), *Content.styled(drifted, "$text-muted").wrap(width)]
        return lines

    def _trend(self) -> Content:
        line = trend.total_line(trend.oldest_first(self.reports, self.role))
        totals = line.known[-24:]
        title = Content.styled("Interviews so far", "bold").append(Content.styled("  t history", "$primary"))
        title = title.stylize(Style.from_meta({"@click": "screen.history"}), 0, len(title.plain))
        if len(totals) < 2:
            return title
        sparks = trend.spark(totals)
        return title.append(Content.styled(f"  {sparks}", "$primary")).append(
            Content.styled(f"  {totals[0]} → {totals[-1]} in this role", "$text-muted")
        )

    # acting

    def _move(self, step: int) -> None:
        last = len(FIELDS) + len(self.reports) - 1
        self.cursor = max(0, min(last, self.cursor + step))
        self._show()
        line = self.cursor if self.cursor < len(FIELDS) else self.cursor + 6
        scroll = self.query_one("#mock")
        if not scroll.scroll_offset.y <= line < scroll.scroll_offset.y + scroll.size.height - 2:
            scroll.scroll_to(y=max(0, line - 3), animate=False)

    def action_up(self) -> None:
        """One up."""
        self._move(-1)

    def action_down(self) -> None:
        """One down."""
        self._move(1)

    def action_at(self, index: int) -> None:
        """A click: go there; on the cursor's own line it changes or opens."""
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
            roles = list(self.blueprint.roles)
            self.role = roles[(roles.index(self.role) + step) % len(roles)]
        elif name == "minutes":
            self.minutes = LENGTHS[(LENGTHS.index(self.minutes) + step) % len(LENGTHS)]
        elif name == "code":
            self.code = not self.code
        else:
            self.seed = max(0, (self.seed or 0) + step) if self.seed is not None or step > 0 else None
        self._show()

    def action_seed(self) -> None:
        """Another seed."""
        import secrets

        self.seed = secrets.randbelow(10_000)
        self._show()

    def action_begin(self) -> None:
        """Draw the paper and show the brief."""
        from quizapp.interview.interview import Interview

        if self.unfinished is not None:
            self._ask_first()
            return
        try:
            interview = Interview.begin(
                self.quiz.study,
                self.role,
                self.minutes,
                code=self.code,
                seed=self.seed,
                blueprint=self.blueprint,
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        interview.start()
        self._run(interview)

    def _ask_first(self) -> None:
        from quizapp.tui.screens.choose import Choose

        entries = [("resume", "Go on with it"), ("end", "End it now and mark it")]

        def chosen(way: str | None) -> None:
            if way:
                self._resume(end=way == "end")

        self.quiz.push_screen(Choose("An interview is not finished", entries), chosen)

    def action_resume(self) -> None:
        """Go on with the interview that is not finished."""
        if self.unfinished is None:
            self.quiz.say("No interview is waiting to be finished.")
            return
        self._resume(end=False)

    def _resume(self, *, end: bool) -> None:
        from quizapp.interview.interview import Interview

        assert self.unfinished is not None
        interview = Interview.resume(self.quiz.study, self.unfinished.document)
        if end and not interview.session.ended:
            interview.session.end("early")
            interview.save()
        self._run(interview)

    def _run(self, interview: "Interview") -> None:
        if interview.session.ended:
            from quizapp.tui.screens.mockmark import MarkScreen

            interview.propose()
            self.quiz.push_screen(MarkScreen(interview))
            return
        from quizapp.tui.screens.mockrun import RunScreen

        self.quiz.push_screen(RunScreen(interview))

    def action_open(self) -> None:
        """The scorecard of a past interview."""
        from quizapp.tui.screens.mockcard import CardScreen

        index = self.cursor - len(FIELDS)
        if 0 <= index < len(self.reports):
            self.quiz.push_screen(CardScreen(self.reports[index]))

    def action_history(self) -> None:
        """All interviews over time."""
        self.quiz.go("mockpast")

    def action_blind(self) -> None:
        """Mark an old answer again, blind."""
        if not self.blind:
            self.quiz.say("No old answer waits to be marked again; every tenth comes back after three days.")
            return
        from quizapp.tui.screens.mockblind import BlindScreen

        name, number = self.blind[0]
        document = next(dict(report) for report in self.reports if report["id"] == name)
        self.quiz.push_screen(BlindScreen(document, number))
