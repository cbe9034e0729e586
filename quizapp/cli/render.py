"""Renders what commands print as plain text: statistics, the plan for a date, incidents."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING

from quizapp.scheduling.views import StudyStatistics
from quizapp.settings.model import Settings
from quizapp.util.text import plural

if TYPE_CHECKING:  # statistics must not load the planner, nor a plan the interviews
    from pathlib import Path

    from quizapp.incidents.live.live_work import HandIn, LiveTask
    from quizapp.incidents.model import IncidentLibrary
    from quizapp.interview.paper.incident_pool import ListedIncident
    from quizapp.scheduling.planner.plan import PlannedDay, StudyPlan

NARROW, WIDE = 60, 100
COLUMNS = 80
_HEAD = f"{'date':10}  min  reviews  new  code and rehearsal"
_INDENT = " " * 31
_OWN_MINUTES = (
    "The minutes follow from your daily limits of new cards and reviews at your pace; set others with "
    "`--minutes`, or under [plan] in the settings."
)


def stats_text(stats: StudyStatistics) -> str:
    """Render the main figures, one per line, then a line per topic."""
    retention = stats.retention
    lines = [
        f"reviews    {stats.reviews}",
        f"due        {stats.due}",
        f"new        {stats.new}",
        f"seen       {stats.seen}",
        f"learning   {stats.seen - stats.learned}",
        f"learned    {stats.learned}",
        f"retention  {'-' if retention is None else f'{100 * retention:.1f} %'}",
    ]
    if stats.comparison is not None:
        most = max(stats.comparison.losses.values()) or 1.0
        lines += [
            f"{name:10} {'█' * round(20 * loss / most):20} {loss:.3f}"
            for name, loss in stats.comparison.losses.items()
        ]
        lines += textwrap.wrap(stats.comparison.sentence(stats.model.partition("/")[0]), 80)
    lines += [
        f"  {name:18} {topic.learned:4} of {topic.total:4} learned, {plural(topic.reviews, 'review')}"
        for name, topic in stats.topics.items()
    ]
    return "\n".join(lines)


def plan_text(
    plan: "StudyPlan",
    settings: Settings,
    config: str,
    *,
    width: int = 80,
    weeks: bool = False,
    own: bool = False,
) -> list[str]:
    """Render a plan in lines of at most ``width`` columns (60 to 100); ``weeks`` groups the days.

    ``settings`` and ``config``, the path of their file, are needed to say what to change and where. ``own``
    is true if the minutes follow from the learner's pace.
    """
    from quizapp.scheduling.planner.plan_sentences import advice, verdict, ways_out

    width = min(max(width, NARROW), WIDE)
    lines: list[str] = []
    for paragraph in (*verdict(plan, settings), *ways_out(plan)):
        lines += _wrapped(paragraph, width, "   " if paragraph[:1].isdigit() else "")
        lines += [] if paragraph else [""]
    lines += ["", _HEAD if weeks else f"{_HEAD} (min)"]
    rows = _weeks(plan.days) if weeks else [_row(day) for day in plan.days]
    for head, text in rows:
        lines += _wrapped(f"{head}{text}", width, _INDENT)
    lines += [f"{_date(plan.date)}  the interview", ""]
    for paragraph in (*([_OWN_MINUTES] if own else []), *advice(plan)):
        lines += _wrapped(paragraph, width)
    return [*lines, *_settings_lines(plan, settings, config, width)]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]


def _date(when: date) -> str:
    return f"{when:%a} {when.day:2} {when:%b}"


def _row(day: "PlannedDay") -> tuple[str, str]:
    from quizapp.scheduling.planner.plan import exercise_parts

    if day.calendar_day.minutes <= 0 and not day.minutes:
        return f"{_date(day.calendar_day.date)}    -", "  free"
    extra = [
        f"{slug} {_minutes(s)}{'' if finished else ' (part)'}" for slug, s, finished in exercise_parts([day])
    ]
    if day.calendar_day.rehearsal:
        extra.insert(0, f"{day.calendar_day.rehearsal} {day.calendar_day.rehearsal_minutes}")
    figures = f"{day.minutes:>4}  {day.done.reviews:>7}  {day.done.new:>3}"
    return f"{_date(day.calendar_day.date)} {figures}", f"  {', '.join(extra)}".rstrip()


def _weeks(days: Sequence["PlannedDay"]) -> list[tuple[str, str]]:
    """One row per calendar week: totals, rehearsals and finished exercises."""
    from quizapp.scheduling.planner.plan import exercise_parts

    rows = []
    for _, group in groupby(days, key=lambda day: day.calendar_day.date.isocalendar()[:2]):
        week = list(group)
        rehearsed = Counter(day.calendar_day.rehearsal for day in week if day.calendar_day.rehearsal)
        extra = [name if number == 1 else f"{number} {name}s" for name, number in rehearsed.items()]
        extra += [slug for slug, _, finished in exercise_parts(week) if finished]
        minutes = sum(day.minutes for day in week)
        reviews, new = sum(day.done.reviews for day in week), sum(day.done.new for day in week)
        head = f"{_date(week[0].calendar_day.date)} {minutes:>4}  {reviews:>7}  {new:>3}"
        rows.append((head, f"  {', '.join(extra)}".rstrip()))
    return rows


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))}"


def _settings_lines(plan: "StudyPlan", settings: Settings, config: str, width: int) -> list[str]:
    """Say which settings to change so that the drill follows the plan, if any, and why."""
    from quizapp.scheduling.planner.plan_sentences import changes

    changed = changes(plan, settings)
    best = f"Best desired retention found: {plan.policy.retention:.2f}"
    if not changed:
        return [f"{best}; your settings fit the plan."]
    lines = [
        *textwrap.wrap(
            f"{best}. To make the drill follow the plan on an average day, press 1 on the plan screen "
            "(p on the home screen), or set above the first [table] of",
            width,
        ),
        f"  {config}",
    ]
    for change in changed:
        lines += [f"    {change.key} = {change.after}"]
        lines += textwrap.wrap(change.why, width, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines


def incident_list(incidents: Sequence["ListedIncident"]) -> Iterator[str]:
    """One line per incident with name, level, topic once it was sat, and last marks, in the given order."""
    width = max(len(case.incident.name) for case in incidents)
    for case in incidents:
        one = case.incident
        yield f"{one.name:{width}}  {one.level:6}  {case.topic:15}  {case.standing}"


def incident_sheet(case: "ListedIncident", library: "IncidentLibrary", seconds: int) -> Iterator[str]:
    """Render what the learner sees when the clock starts: setup, symptom, and the cost of each reading."""
    one = case.incident
    yield one.title
    facts = [one.level, case.topic, f"{seconds // 60} minutes", case.standing]
    yield ", ".join(fact for fact in facts if fact)
    for text in (one.setup, one.symptom):
        yield ""
        yield from textwrap.wrap(" ".join(text.split()), COLUMNS)
    yield ""
    yield "Readings, each of which costs seconds of the clock; you first predict the outcome:"
    for name in one.readings:
        reading = library.readings[name]
        text = f"{reading.title}: {' '.join(reading.asks.split())} ({' / '.join(reading.outcomes)})"
        first = f"{reading.seconds:>4} s  "
        yield from textwrap.wrap(
            text, COLUMNS, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )
    yield ""
    yield from textwrap.wrap(
        "To answer: the cause among a dozen or more, or that nothing is broken; its place; the state that a "
        "replay must restore; a cause that you rejected, and by which reading; and in words how you would "
        "replay the run, fix it and prove the fix.",
        COLUMNS,
    )
    if case.last is not None:
        day = f"{case.last.report.started_at.astimezone():%Y-%m-%d}"
        yield f"Last taken on {day}, {case.last.marks} of 100: quizapp mock report {case.last.report.id}"
    yield f"In a terminal, against the clock: quizapp incident {one.name}"


def live_sheet(task: "LiveTask", script: "Path") -> Iterator[str]:
    """Render what a live incident adds: its script, where that lies, and what is measured."""
    yield ""
    yield f"Live: {task.title}"
    yield from textwrap.wrap(" ".join(task.brief.split()), COLUMNS)
    fields = "; ".join(f"{field.name}: {field.title}" for field in task.fields)
    yield from textwrap.wrap(f"Its log has a line for each step. {fields}.", COLUMNS)
    yield ""
    yield f"The script: {script}"
    yield f"Its broken run: run.py --seed {task.seed}, {task.steps} steps"
    yield ""
    yield from textwrap.wrap(
        f"A run of all steps costs {task.price} s of the clock, a shorter one less. Commit to cause and "
        "place; then repair the script, and add an assert that fails in the script as it was. The repair is "
        "measured on three seeds, one of them new. State the command that shows the symptom.",
        COLUMNS,
    )
    yield f"In a terminal, against the clock: quizapp incident {task.name} --live"


def hand_in_lines(task: "LiveTask", result: "HandIn") -> Iterator[str]:
    """Render what the judge measured of a script: seed by seed, then the verdict, the size and the guard."""
    for check in result.checks:
        measured = ", ".join(
            f"{name} {check.metrics[name]:.4g} ({low:g} to {high:g})"
            for name, (low, high) in task.band.items()
            if name in check.metrics
        )
        yield f"{'✓' if check.held else '✗'} seed {check.seed}: {measured or check.text}"
    yield result.fix_text if result.repaired else f"Not repaired: {result.fix_text}"
    if result.nodes is not None:
        nodes = plural(result.nodes, "node")
        yield f"Its size: {nodes} of the syntax tree changed; the reference changes {task.repair_nodes}."
    if result.guard:
        yield f"Guard: {result.guard_text}"
