"""Past interviews over time: how totals, dimensions and topics moved, and which topic is weakest.

Everything comes from stored reports, so later edits of the content change nothing here.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from quizapp.interview import RoundName
from quizapp.interview.archive import drift_text
from quizapp.interview.history import MOST_COMPARED, SETTLED, WINDOW_DAYS, pooled
from quizapp.interview.report.model import Report
from quizapp.interview.scoring.arithmetic import DIMENSIONS, half_up
from quizapp.interview.scoring.score import mean_mark
from quizapp.util.text import plural

SPARKS = "▁▂▃▄▅▆▇█"
GAP = "·"
TRUSTED = 3  # with fewer questions the mean of a topic is mostly noise
NAME_CELLS, TOPIC_CELLS = 16, 31
_SHOWN, _COLUMNS = 7, 80


@dataclass(frozen=True, slots=True)
class TrendLine:
    """One figure in percent per interview, oldest first; None for interviews that did not measure it."""

    name: str
    percents: tuple[int | None, ...]

    @property
    def known(self) -> list[int]:
        """The percents without the gaps."""
        return [percent for percent in self.percents if percent is not None]

    @property
    def last(self) -> int | None:
        """The newest percent, or None if there is none at all."""
        return self.known[-1] if self.known else None

    @property
    def change(self) -> int | None:
        """The newest percent minus the mean of up to three before it, or None if it is the first."""
        *before, last = self.known or [0]
        before = before[-MOST_COMPARED:]
        return half_up(last - Fraction(sum(before), len(before))) if before else None


@dataclass(frozen=True, slots=True)
class TopicTrend:
    """A topic over interviews.

    ``number`` counts the questions that were reached. ``mean`` is their mean mark, 0 to 100, weighted by
    planned time.
    """

    topic: str
    number: int
    mean: int
    line: TrendLine


@dataclass(frozen=True, slots=True)
class RoleStanding:
    """Where the learner stands in a round of a role.

    ``pooled`` is the weighted mean of all totals; the weight of an interview halves every 14 days.
    ``recent`` counts the interviews of the last 30 days.
    """

    role: str
    round_name: str
    title: str
    interviews: int
    pooled: int
    pass_mark: int
    recent: int

    @property
    def provisional(self) -> bool:
        """Whether fewer than three interviews lie in the last 30 days."""
        return self.recent < SETTLED


def oldest_first(
    reports: Sequence[Report], role: str | None = None, round_name: str | None = None
) -> list[Report]:
    """The reports of a role and a round, or of all, oldest first."""
    return sorted(
        (r for r in reports if role in (None, r.role) and round_name in (None, r.round_name)),
        key=lambda report: report.started_at,
    )


def total_line(reports: Sequence[Report]) -> TrendLine:
    """The raw totals of the reports, in the order given."""
    return TrendLine("total", tuple(report.totals.raw for report in reports))


def dimension_lines(reports: Sequence[Report]) -> list[TrendLine]:
    """The dimensions of the reports, in the order given, without those that no report has."""
    lines = []
    for name in DIMENSIONS:
        rows = [report.dimensions.get(name) for report in reports]
        lines.append(TrendLine(name, tuple(None if row is None else row.percent for row in rows)))
    return [line for line in lines if line.known]


def topic_lines(reports: Sequence[Report]) -> list[TopicTrend]:
    """The topics of the reports, weakest first. Only questions that were reached count."""
    marks: dict[str, list[list[tuple[int, int]]]] = {}
    for index, report in enumerate(reports):
        for question in report.reached:
            by_report = marks.setdefault(question.asked.topic, [[] for _ in reports])
            by_report[index].append((question.asked.planned, question.marks.total))
    rows = []
    for topic, by_report in marks.items():
        answered = [row for one in by_report for row in one]
        line = TrendLine(topic, tuple(mean_mark(one) if one else None for one in by_report))
        rows.append(TopicTrend(topic, len(answered), mean_mark(answered), line))
    return sorted(rows, key=lambda row: (row.mean, -row.number, row.topic))


def weakest(topics: Sequence[TopicTrend]) -> TopicTrend | None:
    """The topic with the lowest mean over at least three questions, or over fewer if no topic has three."""
    return next((row for row in topics if row.number >= TRUSTED), topics[0] if topics else None)


def standings(reports: Sequence[Report], now: datetime) -> list[RoleStanding]:
    """Where the learner stands in each round of each role; that of the newest interview comes first."""
    rows = []
    newest = oldest_first(reports)[::-1]
    for role, round_name in dict.fromkeys((report.role, report.round_name) for report in newest):
        of_role = [r for r in newest if (r.role, r.round_name) == (role, round_name)]
        latest = of_role[0]
        recent = sum((now - report.started_at).days <= WINDOW_DAYS for report in of_role)
        totals = [(report.started_at, report.totals.raw) for report in of_role]
        # As of the newest interview and not of today, so that the figure equals the one in its report.
        total = pooled(latest.started_at, totals).total
        rows.append(
            RoleStanding(role, round_name, latest.title, len(of_role), total, latest.pass_mark, recent)
        )
    return rows


def spark(percents: Sequence[int | None]) -> str:
    """Draw one block character per percent, and a dot for None."""
    return "".join(GAP if p is None else SPARKS[min(7, p * 8 // 100)] for p in percents)


def standing_text(standing: RoleStanding) -> str:
    """Describe a standing in one sentence."""
    mixed = standing.round_name == RoundName.MIXED
    title = standing.title if mixed else f"{standing.title}, {standing.round_name}"
    text = f"{title}: {plural(standing.interviews, 'interview')}, pooled {standing.pooled}"
    recent = f"{standing.recent} in 30 days"
    return f"{text}, pass mark {standing.pass_mark}; {recent}{', provisional' * standing.provisional}."


def weakest_text(topics: Sequence[TopicTrend]) -> str:
    """Name the weakest topic in one sentence; empty without topics."""
    row = weakest(topics)
    if row is None:
        return ""
    few = "" if row.number >= TRUSTED else ", too few to trust"
    return f"Weakest: {row.topic}, mean {row.mean} over {plural(row.number, 'question')}{few}."


HEAD = f"{'id':8} {'date':10} {'role':23} {'round':8} min raw adj 80 %   band"


def list_line(report: Report) -> str:
    """Format a finished interview as one line below ``HEAD``."""
    totals, interval = report.totals, report.interval
    head = _list_head(report.id, report.started_at, report.role, report.round_name, report.minutes)
    percents = f"{interval.low}-{interval.high}"
    band = report.band.name if report.counts else "not counted"
    return f"{head} {totals.raw:>3} {totals.adjusted:>3} {percents:6} {band}"


def running_line(document: Mapping[str, Any]) -> str:
    """Format an unfinished interview, given its stored document, as one line below ``HEAD``."""
    started = datetime.fromisoformat(document["started"])
    round_name = document.get("round") or RoundName.MIXED
    head = _list_head(document["id"], started, document["role"], round_name, document["minutes"])
    return f"{head} not finished"


def _list_head(mock_id: str, started: datetime, role: str, round_name: str, minutes: int) -> str:
    return f"{mock_id:8} {started.astimezone():%Y-%m-%d} {role:23} {round_name:8} {minutes:>3}"


def day(report: Report) -> str:
    """The local date on which an interview began."""
    return f"{report.started_at.astimezone():%Y-%m-%d}"


def as_text(reports: Sequence[Report], now: datetime) -> Iterator[str]:
    """Yield the lines of the trend of each role and of the topics, for 80 columns."""
    for standing in standings(reports, now):
        of_role = oldest_first(reports, standing.role, standing.round_name)
        yield ""
        yield from textwrap.wrap(standing_text(standing), _COLUMNS)
        yield from (_row(line, NAME_CELLS) for line in (total_line(of_role), *dimension_lines(of_role)))
    topics = topic_lines(oldest_first(reports))
    if topics:
        yield ""
        yield f"{'topic':{TOPIC_CELLS}}    n mean"
        for row in topics:
            figures = f"{row.number:>4} {row.mean:>4}"
            yield f"{row.topic:{TOPIC_CELLS}} {figures}  {spark(row.line.known[-_SHOWN:])}".rstrip()
        yield weakest_text(topics)
    if drift := drift_text(reports):
        yield ""
        yield from textwrap.wrap(drift, _COLUMNS)


def _row(line: TrendLine, cells: int) -> str:
    shown = line.percents[-_SHOWN:]
    numbers = "".join(f"{'-' if percent is None else percent:>4}" for percent in shown)
    change = "" if line.change is None else f"  {line.change:+d} against the {_before(line)} before"
    return f"  {line.name:{cells}} {spark(shown):{_SHOWN}}{numbers}{change}"


def _before(line: TrendLine) -> str:
    number = min(MOST_COMPARED, len(line.known) - 1)
    return "one" if number == 1 else f"{number}"
