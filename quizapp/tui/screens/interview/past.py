"""The history of mock interviews: totals, dimensions and topics over time, and their scorecards."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp.interview import archive, trends
from quizapp.interview.report.model import Report
from quizapp.interview.report.text import name_question_topics, name_topics
from quizapp.interview.scoring.score import level_of
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.base import Place
from quizapp.tui.widgets.lines import Lines
from quizapp.tui.widgets.meter import meter
from quizapp.tui.widgets.row_list import keep_in_view
from quizapp.tui.widgets.ruler import ruler
from quizapp.tui.widgets.score_card import LEVEL_COLORS
from quizapp.tui.widgets.tab_strip import tab
from quizapp.util.sanitize import one_line
from quizapp.util.text import plural

_NAME, _NUMBER, _CHANGE = 17, 6, 8
_RULER = 31
_LEAST_TITLE = 18
_ROOMY = 70  # cells; narrower screens leave out the sentences that the help contains too


class PastLines(Lines):
    """Standing and trend, then the interviews (newest first, with a cursor), then the topics."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.reports: Sequence[Report] = ()
        self.standings: Sequence[trends.RoleStanding] = ()
        self.cursor = 0

    def show(self, reports: Sequence[Report], standings: Sequence[trends.RoleStanding], cursor: int) -> None:
        """Show reports, oldest first; the cursor counts from the newest."""
        self.reports, self.standings, self.cursor = reports, standings, cursor
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """All three parts, or a sentence if there is no interview yet."""
        if not self.reports:
            text = (
                "No interviews yet. After the first you see its marks here, after the second how they change."
            )
            return Content.styled(text, "$text-muted").wrap(width)
        return [*self._above(width), *self._interviews(width), Content(""), *self._topics(width)]

    def cursor_line(self, width: int) -> int:
        """The line of the cursor, counted from 0."""
        return len(self._above(max(8, width))) + 1 + self.cursor if self.reports else 0

    def _above(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for standing in self.standings:
            lines += Content(one_line(trends.standing_text(standing))).wrap(width)
        if width >= _ROOMY:
            lines.append(Content.styled("Pooled: an interview weighs half every 14 days.", "$text-muted"))
        return [*lines, Content(""), *self._trend(width), Content("")]

    # over time

    def _trend(self, width: int) -> list[Content]:
        """A row for the total and for each dimension: a sparkline, the newest marks, the change."""
        rows = [trends.total_line(self.reports), *trends.dimension_lines(self.reports)]
        several = len(self.reports) > 1
        # One interview makes no curve, so the sparkline and the column of changes are left out.
        sparks = min(len(self.reports), 24 if width >= 90 else 8) if several else 0
        room = width - _NAME - sparks - 1 - _CHANGE
        shown = max(1, min(len(self.reports), room // _NUMBER))
        days = "".join(f"{day[5:10]:>{_NUMBER}}" for day in self._days()[-shown:])
        change = f"{'change':>{_CHANGE}}" if several else ""
        head = Content.styled(f"{'Over time':{_NAME}}", "bold $primary")
        lines = [head.append(Content.styled(f"{'':{sparks}}{days}{change}", "$text-muted"))]
        lines += [self._trend_row(row, sparks, shown) for row in rows]
        text = "Change: the newest against the mean of up to three before it."
        if not several:
            text = "One interview so far; after the next one you see how your marks change."
        if several and width < _ROOMY:
            return lines
        return [*lines, *Content.styled(text, "$text-muted").wrap(width)]

    def _days(self) -> list[str]:
        return [trends.day(report) for report in self.reports]

    @staticmethod
    def _trend_row(row: trends.TrendLine, sparks: int, shown: int) -> Content:
        name = "Clarity, time" if row.name == "clarity and time" else row.name.capitalize()
        line = Content.styled(f"{name:{_NAME}}", "bold" if row.name == "total" else "")
        line = line.append(Content.styled(trends.spark(row.percents[-sparks:] if sparks else ()), "$primary"))
        for percent in row.percents[-shown:]:
            text = "–" if percent is None else str(percent)
            style = "$text-muted" if percent is None else LEVEL_COLORS[level_of(percent)]
            line = line.append(Content.styled(f"{text:>{_NUMBER}}", style))
        if row.change is not None:
            line = line.append(f"{row.change:>+{_CHANGE}d}")
        return line

    # the interviews

    def _interviews(self, width: int) -> list[Content]:
        fixed = 45  # cells of the columns before ruler and title
        wide = width >= fixed + _RULER + 2 + _LEAST_TITLE
        room = width - fixed - (_RULER + 2 if wide else 0)
        scale = f"  {'0':<{_RULER // 2 - 1}}50{'100':>{_RULER - _RULER // 2 - 1}}" if wide else ""
        head = f"  {'Interviews':10}  min  mark  adj  80 %  {scale}  band"
        lines = [Content.styled(head[:12], "bold $primary").append(Content.styled(head[12:], "$text-muted"))]
        for place, report in enumerate(reversed(self.reports)):
            lines.append(self._interview(report, place, wide=wide, room=room).truncate(width))
        return lines

    def _interview(self, report: Report, place: int, *, wide: bool, room: int) -> Content:
        here = place == self.cursor
        totals, interval, band = report.totals, report.interval, report.band.name
        color = "$warning" if band == "below" else "$success"
        reach = f"{interval.low}-{interval.high}"
        row = Content.assemble(
            ("▸ " if here else "  ", "$primary bold"),
            (self._days()[len(self.reports) - 1 - place], "bold" if here else ""),
            f"  {report.minutes:>3}", (f"  {totals.raw:>4}", f"bold {color}"),
            (f"  {totals.adjusted:>3}  {reach:6}", "$text-muted"),
        )  # fmt: skip
        if wide:
            low, high, mark = interval.low, interval.high, report.pass_mark
            row = row.append("  ").append(ruler(totals.raw, low, high, mark, _RULER))
        row = row.append(Content.styled(f"  {band:6}", color))
        if room >= 8:
            row = row.append(Content(f"  {one_line(report.title)}").truncate(room, ellipsis=True))
        return link(row, f"screen.at({place})")

    # topics

    def _topics(self, width: int) -> list[Content]:
        rows = trends.topic_lines(self.reports)
        if not rows:
            return [Content.styled("No question was reached.", "$text-muted")]
        sparks = min(len(self.reports), 16 if width >= _ROOMY else 8) if len(self.reports) > 1 else 0
        column = min(trends.TOPIC_CELLS, width - sparks - 28)
        bar = max(8, min(30, width - column - sparks - 16))
        head = Content.styled(f"{'Topics':{column}}", "bold $primary")
        lines = [head.append(Content.styled(f"{'n':>4}{'mean':>6}", "$text-muted"))]
        for row in rows:
            color = LEVEL_COLORS[level_of(row.mean)]
            name = Content(one_line(row.topic)).truncate(column, ellipsis=True)
            line = name.append(" " * (column - name.cell_length))
            line = line.append(Content.styled(f"{row.number:>4}", "$text-muted"))
            line = line.append(Content.styled(f"{row.mean:>6}", color)).append("  ")
            line = line.append(meter([(row.mean / 100, color, "█")], bar)).append("  ")
            moved = trends.spark(row.line.known[-sparks:] if sparks else ())
            lines.append(line.append(Content.styled(moved, "$primary")))
        lines += Content(one_line(trends.weakest_text(rows))).wrap(width)
        if drifted := archive.drift_text(self.reports):
            lines += [Content(""), *Content.styled(drifted, "$text-muted").wrap(width)]
        return lines


class PastScreen(Place):
    """All interviews, or those of one role."""

    place = "mockpast"
    BINDINGS: ClassVar[list[object]] = actions.bindings("mockpast")  # type: ignore[assignment]
    CSS_PATH = "styles/past.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Report] = []
        self.roles: list[str | None] = [None]
        self.chosen = 0
        self.cursor = 0

    def body(self) -> ComposeResult:
        """The roles, then the lines."""
        yield Static("", id="head", classes="bar", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield PastLines(id="past")

    def on_mount(self) -> None:
        """Show once the data is open."""
        self.query_one("#head").auto_links = False
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Read the reports."""
        self.all = trends.oldest_first(archive.done(self.quiz.study))
        roles = list(dict.fromkeys(report.role for report in reversed(self.all)))
        self.roles = [*roles, None] if len(roles) > 1 else [None]
        self.chosen = min(self.chosen, len(self.roles) - 1)
        self._show()

    def returned(self) -> None:
        """Read the reports again, because the scorecard can undo an interview."""
        self.opened()

    def on_resize(self) -> None:
        """Lay out the head for the new width."""
        if self.quiz.ready:
            self._show_head()

    @property
    def reports(self) -> list[Report]:
        """The reports of the chosen role, oldest first."""
        return trends.oldest_first(self.all, self.roles[self.chosen])

    def _show(self) -> None:
        reports = self.reports
        self.cursor = max(0, min(self.cursor, len(reports) - 1))
        standings = trends.standings(reports, self.quiz.study.clock.now())
        shown = [name_question_topics(report, self.quiz.bank.topics) for report in reports]
        self.query_one(PastLines).show(shown, standings, self.cursor)
        self._show_head()
        self.enter_phase(Phase.LIST if reports else Phase.EMPTY)

    def _show_head(self) -> None:
        parts = [Content.styled(f"History  {plural(len(self.all), 'interview')}", "bold $primary")]
        titles = {report.role: one_line(report.title) for report in self.all}
        for index, role in enumerate(self.roles if len(self.roles) > 1 else []):
            name = "All roles" if role is None else titles[role]
            parts.append(tab(name, f"screen.role({index - self.chosen})", current=index == self.chosen))
        head = Content("  ").join(parts)
        if (
            head.cell_length > self.size.width - 2 and len(parts) > 1
        ):  # only the chosen one where it is narrow
            place = f" {self.chosen + 1} of {len(self.roles)}"
            head = Content("  ").join([parts[0], parts[self.chosen + 1]]).append(place)
        self.query_one("#head", Static).update(head)

    def scroller(self) -> Widget:
        """The lines."""
        return self.query_one("#scroll")

    def offers(self, act: actions.Act) -> bool:
        """Offer other roles only if there are some."""
        return not act.action.startswith("role") or len(self.roles) > 1

    # acting

    def move(self, step: int) -> None:
        """Move to the next interview, or scroll."""
        last = len(self.reports) - 1
        to = self.cursor + step
        if not 0 <= to <= last:  # past the list the page scrolls: above it is the trend, below the topics
            super().move(step)
            return
        self._to(to)

    def _to(self, place: int) -> None:
        self.cursor = place
        lines, scroll = self.query_one(PastLines), self.query_one("#scroll")
        lines.cursor = place
        lines.refresh()
        line = lines.cursor_line(lines.content_size.width)
        keep_in_view(scroll, lines, line, line)

    def action_at(self, place: int) -> None:
        """Go to the clicked interview; if the cursor is there already, open it."""
        if place == self.cursor:
            self.action_open()
        else:
            self._to(place)

    def action_role(self, step: int) -> None:
        """Show the interviews of another role, or all."""
        self.chosen = (self.chosen + step) % len(self.roles)
        self.cursor = 0
        self._show()
        self.query_one("#scroll").scroll_home(animate=False)

    def _here(self) -> Report | None:
        newest = self.reports[::-1]
        return newest[self.cursor] if newest else None

    def action_open(self) -> None:
        """Open the scorecard of the interview under the cursor."""
        from quizapp.tui.screens.interview.scorecard import CardScreen

        if (report := self._here()) is not None:
            self.quiz.push_screen(CardScreen(report))

    def action_report(self) -> None:
        """Show the whole report of the interview under the cursor."""
        from quizapp.interview.report.markdown import as_markdown

        if (report := self._here()) is not None:
            self.quiz.read("Report", as_markdown(name_topics(report, self.quiz.bank.topics)))
