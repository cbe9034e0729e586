"""The list of broken runs, with the suggested next one first and the marks of earlier attempts."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from quizapp.errors import QuizError
from quizapp.incidents.live.live_work import LiveMode
from quizapp.incidents.loader import find_incident, load_library
from quizapp.interview.blueprint import CUT_SHARE, load_blueprint
from quizapp.interview.paper.incident_pool import ListedIncident, list_incidents
from quizapp.interview.trends import day
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.layout import wrap
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.base import TablePlace
from quizapp.tui.screens.interview.start import StartScreen, unfinished_lines
from quizapp.tui.widgets.table import Table
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock

RULES = (
    "The clock starts with the run. Each reading costs seconds, and you predict its outcome first. "
    "About one run in eight is healthy: then the cause is “no fault”."
)


def draw(case: ListedIncident, width: int) -> Content:
    """Last marks, title, level; where there is room the topic of a run that was sat."""
    right = f"{case.incident.level:<6}"
    if width >= 76:
        right = f"{one_line(case.topic):<16.16} {right}"
    left = f" {case.standing:<9}"
    style = "$text-muted" if case.last is None else "$accent" if case.due else ""
    room = max(10, width - len(left) - len(right) - 2)
    title = Content(one_line(case.incident.title)).truncate(room, ellipsis=True)
    gap = " " * (room - title.cell_length)
    return Content.assemble((left, style), title.stylize("bold"), gap, (f" {right}", "$text-muted"))


class IncidentScreen(StartScreen, TablePlace[ListedIncident]):
    """The list of runs. The cursor starts on ``wanted`` (an id or a name) or on the suggested run.

    With ``live`` that run is begun live at once, unless something is unfinished.
    """

    place = "incident"
    BINDINGS: ClassVar[list[object]] = actions.bindings("incident")  # type: ignore[assignment]
    CSS_PATH = "catalogue.tcss"

    def __init__(self, wanted: str | None = None, *, live: bool = False) -> None:
        super().__init__()
        self.wanted = wanted or ""
        self._starts_live = live
        self._seconds = 0

    def body(self) -> ComposeResult:
        """What is not finished, the run under the cursor, the list."""
        yield Static("Broken runs", classes="bar title", id="head", markup=False)
        with Container(id="middle"):
            yield Static("", id="cut", markup=False)
            yield Static("", id="chosen", markup=False)
            yield Table[ListedIncident](draw, "…", id="table")

    def on_mount(self) -> None:
        """Show what there is once the data is open."""
        for name in ("#cut", "#chosen"):
            self.query_one(name).auto_links = False
        self.query_one("#cut").display = False
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """List the runs, with the cursor on the wanted one or on the first."""
        self.look_for_unfinished()
        self._seconds = load_blueprint().incident_seconds
        incidents = self._read()
        place = 0
        try:
            wanted = find_incident(load_library(), self.wanted).id if self.wanted else ""
            place = next((at for at, case in enumerate(incidents) if case.incident.id == wanted), 0)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
        self._list(incidents, place)
        if self._starts_live and incidents:
            self._starts_live = False
            self.call_after_refresh(self.action_live)

    def returned(self) -> None:
        """After a run, go to the next one if the run was marked; otherwise leave the cursor."""
        self.look_for_unfinished()
        before, incidents = self.table.current, self._read()
        stays = [
            at
            for at, case in enumerate(incidents)
            if before is not None and case.incident is before.incident and _report(case) == _report(before)
        ]
        self._list(incidents, stays[0] if stays else 0)

    def _read(self) -> list[ListedIncident]:
        try:
            return list_incidents(self.quiz.study, load_library())
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return []

    # drawing

    def _list(self, incidents: list[ListedIncident], place: int) -> None:
        self.table.show(incidents, place)
        had = sum(case.last is not None for case in incidents)
        head = Content.styled("Broken runs", "bold $primary")
        head = head.append(Content.styled(f"  {had} of {len(incidents)} done", "$text-muted"))
        self.query_one("#head", Static).update(head)
        self.enter_phase(Phase.LIST if self.unfinished is None else Phase.CUT)
        self._show()

    def _show(self) -> None:
        width = max(30, min(96, self.size.width - 6))
        cut = self.query_one("#cut", Static)
        cut.display = self.unfinished is not None
        if self.unfinished is not None:
            cut.update(Content("\n").join(unfinished_lines(self.unfinished.document, width)))
        case = self.table.current if self.quiz.ready else None
        if case is None:
            return
        topic = self.quiz.bank.topics[case.topic].name if case.topic else ""
        start = link("  ▶ Begin (enter)  ", "screen.begin", "bold reverse $primary")
        lines = [
            Content.styled(one_line(case.incident.title), "bold").truncate(width, ellipsis=True),
            *(Content(fact).truncate(width, ellipsis=True) for fact in _facts(case, topic, self._seconds)),
            *(wrap(Content.styled(RULES, "$text-muted"), width) if self.size.height >= 22 else []),
            start,
        ]
        self.query_one("#chosen", Static).update(Content("\n").join(lines))
        self.refresh_keys()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the width."""
        del event
        self._show()

    def on_table_moved(self) -> None:
        """Describe the run under the cursor."""
        self._show()

    def offers(self, act: actions.Act) -> bool:
        """Offer a result only for a run that was done."""
        case = self.table.current
        if act.action in {"live", "practice"}:
            return case is not None and case.incident.live is not None
        return act.action != "result" or (case is not None and case.last is not None)

    # acting

    def action_begin(self) -> None:
        """Start the clock on the run under the cursor."""
        self._begin(None)

    def action_live(self) -> None:
        """Start it live, with its script to repair."""
        self._begin(LiveMode.CLOCK)

    def action_practice(self) -> None:
        """Start it live and without a clock."""
        self._begin(LiveMode.PRACTICE)

    def _begin(self, live: LiveMode | None) -> None:
        from quizapp.interview.service import Interview

        case = self.table.current
        if case is None or self.must_finish_first():
            return
        try:
            interview = Interview.begin_incident(self.quiz.study, case.incident.id, live=live)
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        interview.start()
        self.sit(interview)

    def action_result(self) -> None:
        """Open the scorecard of the last attempt."""
        from quizapp.tui.screens.interview.scorecard import CardScreen

        case = self.table.current
        if case is None or case.last is None:
            self.quiz.say("You have not done this run yet.")
            return
        self.quiz.push_screen(CardScreen(case.last.report))


def _facts(case: ListedIncident, topic: str, seconds: int) -> tuple[str, str]:
    """Exactly two lines, so that the list does not jump while the cursor moves."""
    time = f"{clock(seconds)}, cut at {clock(CUT_SHARE * seconds)}"
    last = "Not done yet."
    if case.last is not None:
        last = f"Last done on {day(case.last.report)}: {case.last.marks} of 100."
    about = f"{case.incident.level.capitalize()}{f', {one_line(topic)}' if topic else ''}"
    return f"{about}. {time}.", last


def _report(case: ListedIncident) -> str:
    return "" if case.last is None else case.last.report.id
