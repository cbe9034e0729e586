"""Past interviews over time: how totals, dimensions and topics moved, and which topic is weakest.

Everything is read from stored reports, so it changes with no later edit of the content.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from quizapp.interview.archive import drift_text
from quizapp.interview.history import LAST, SETTLED, WINDOW_DAYS, pooled, rows_of, when
from quizapp.interview.scoring.score import mean_mark
from quizapp.interview.scoring.terms import DIMENSIONS, half_up
from quizapp.util.text import plural

SPARKS = "▁▂▃▄▅▆▇█"
GAP = "·"
TRUSTED = 3  # fewer questions say little of a topic
NAME_CELLS, TOPIC_CELLS = 16, 31
_SHOWN, _COLUMNS = 7, 80

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TrendLine:
    """Percents of one figure over interviews, oldest first; None where one did not ask for it."""

    name: str
    percents: tuple[int | None, ...]

    @property
    def known(self) -> list[int]:
        """The percents that are there."""
        return [percent for percent in self.percents if percent is not None]

    @property
    def last(self) -> int | None:
        """The newest percent."""
        return self.known[-1] if self.known else None

    @property
    def change(self) -> int | None:
        """The newest percent against the mean of up to three before it; None without one before."""
        *before, last = self.known or [0]
        before = before[-LAST:]
        return half_up(last - Fraction(sum(before), len(before))) if before else None


@dataclass(frozen=True, slots=True)
class TopicTrend:
    """A topic: how many questions of it were reached, and their mean mark, weighted by planned time."""

    topic: str
    number: int
    mean: int
    line: TrendLine


@dataclass(frozen=True, slots=True)
class RoleStanding:
    """Where a role stands: totals pooled by halves per 14 days, and how many lie in the last 30 days."""

    role: str
    title: str
    interviews: int
    pooled: int
    pass_mark: int
    recent: int

    @property
    def provisional(self) -> bool:
        """Whether too few interviews lie in the last 30 days."""
        return self.recent < SETTLED


def oldest_first(documents: Sequence[Report], role: str | None = None) -> list[Report]:
    """The reports of a role, or all, oldest first."""
    return sorted((d for d in documents if role in (None, d["role"])), key=when)


def total_line(documents: Sequence[Report]) -> TrendLine:
    """The raw totals of reports, in the order given."""
    return TrendLine("total", tuple(d["totals"]["raw"] for d in documents))


def dimension_lines(documents: Sequence[Report]) -> list[TrendLine]:
    """The dimensions of reports, in the order given; one that no report has is left out."""
    lines = [
        TrendLine(name, tuple(d["dimensions"][name]["percent"] if name in d["dimensions"] else None
                         for d in documents))
        for name in DIMENSIONS
    ]  # fmt: skip
    return [line for line in lines if line.known]


def topic_lines(documents: Sequence[Report]) -> list[TopicTrend]:
    """The topics of reports, the weakest first. Questions that were not reached say nothing of a topic."""
    rows: dict[str, list[list[tuple[int, int]]]] = {}
    for index, document in enumerate(documents):
        for item in rows_of(document):
            own = rows.setdefault(item["topic"], [[] for _ in documents])
            own[index].append((item["planned"], item["marks"]["total"]))
    found = []
    for topic, by_report in rows.items():
        answered = [row for one in by_report for row in one]
        line = TrendLine(topic, tuple(mean_mark(one) if one else None for one in by_report))
        found.append(TopicTrend(topic, len(answered), mean_mark(answered), line))
    return sorted(found, key=lambda row: (row.mean, -row.number, row.topic))


def weakest(topics: Sequence[TopicTrend]) -> TopicTrend | None:
    """The topic with the lowest mean over at least three questions; over fewer where no topic has three."""
    return next((row for row in topics if row.number >= TRUSTED), topics[0] if topics else None)


def standings(documents: Sequence[Report], now: datetime) -> list[RoleStanding]:
    """Where each role stands, the one sat last first."""
    found = []
    newest = oldest_first(documents)[::-1]
    for role in dict.fromkeys(d["role"] for d in newest):
        own = [d for d in newest if d["role"] == role]
        recent = sum((now - when(d)).days <= WINDOW_DAYS for d in own)
        total = pooled(own[0], own)["total"]
        found.append(RoleStanding(role, own[0]["title"], len(own), total, own[0]["pass_mark"], recent))
    return found


def spark(percents: Sequence[int | None]) -> str:
    """A character for each percent, a dot where there is none."""
    return "".join(GAP if p is None else SPARKS[min(7, p * 8 // 100)] for p in percents)


def standing_text(standing: RoleStanding) -> str:
    """Where a role stands, in a sentence."""
    text = f"{standing.title}: {plural(standing.interviews, 'interview')}, pooled {standing.pooled}"
    recent = f"{standing.recent} in 30 days"
    return f"{text}, pass mark {standing.pass_mark}; {recent}{', provisional' * standing.provisional}."


def weakest_text(topics: Sequence[TopicTrend]) -> str:
    """The weakest topic in a sentence; empty without topics."""
    row = weakest(topics)
    if row is None:
        return ""
    few = "" if row.number >= TRUSTED else ", too few to trust"
    return f"Weakest: {row.topic}, mean {row.mean} over {plural(row.number, 'question')}{few}."


HEAD = f"{'id':8}  {'date':10}  {'role':23}  min  raw  adj  80 %    band"


def list_line(document: Report, state: str = "done") -> str:
    """An interview in one line below `HEAD`."""
    head = f"{document['id']:8}  {day(document)}  {document['role']:23}  {document['minutes']:>3}"
    if state == "running":
        return f"{head}  not finished, can be resumed"
    totals, interval = document["totals"], document["interval"]
    reach = f"{interval['low']}-{interval['high']}"
    return f"{head}  {totals['raw']:>3}  {totals['adjusted']:>3}  {reach:6}  {document['band']['name']}"


def day(document: Report) -> str:
    """The local date on which an interview began."""
    return f"{when(document).astimezone():%Y-%m-%d}"


def as_text(documents: Sequence[Report], now: datetime) -> Iterator[str]:
    """The trend of each role and of the topics, for a terminal 80 columns wide."""
    for standing in standings(documents, now):
        own = oldest_first(documents, standing.role)
        yield ""
        yield from textwrap.wrap(standing_text(standing), _COLUMNS)
        yield from (_row(line, NAME_CELLS) for line in (total_line(own), *dimension_lines(own)))
    topics = topic_lines(oldest_first(documents))
    if topics:
        yield ""
        yield f"{'topic':{TOPIC_CELLS}}    n mean"
        for row in topics:
            figures = f"{row.number:>4} {row.mean:>4}"
            yield f"{row.topic:{TOPIC_CELLS}} {figures}  {spark(row.line.known[-_SHOWN:])}".rstrip()
        yield weakest_text(topics)
    if drifted := drift_text(documents):
        yield ""
        yield from textwrap.wrap(drifted, _COLUMNS)


def _row(line: TrendLine, cells: int) -> str:
    shown = line.percents[-_SHOWN:]
    numbers = "".join(f"{'-' if percent is None else percent:>4}" for percent in shown)
    change = "" if line.change is None else f"  {line.change:+d} against the {_before(line)} before"
    return f"  {line.name:{cells}} {spark(shown):{_SHOWN}}{numbers}{change}"


def _before(line: TrendLine) -> str:
    number = min(LAST, len(line.known) - 1)
    return "one" if number == 1 else f"{number}"
