"""Renders what commands print as plain text: statistics, the plan for a date, incidents."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from math import floor
from typing import TYPE_CHECKING

from quizapp.scheduling.views import StudyStatistics
from quizapp.settings.model import Settings
from quizapp.util.text import plural

if TYPE_CHECKING:  # statistics must not load the planner, nor a plan the interviews
    from quizapp.incidents.model import IncidentLibrary
    from quizapp.interview.paper.incident_pool import ListedIncident
    from quizapp.scheduling.planner.alternatives import Alternative
    from quizapp.scheduling.planner.plan import PlannedDay, StudyPlan

NARROW, WIDE = 60, 100
COLUMNS = 80
_HEAD = f"{'date':10}  min  reviews  new  code and rehearsal"
_INDENT = " " * 31
_WEEK_DAYS = 7
_FIXED = "\xa0"  # the no-break space
_LEAST_TARGET = 0.05  # the settings accept nothing lower
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
        f"learned    {stats.learned}",
        f"retention  {'-' if retention is None else f'{100 * retention:.1f} %'}",
    ]
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
    width = min(max(width, NARROW), WIDE)
    lines: list[str] = []
    for paragraph in (*_verdict(plan, settings), *_ways(plan)):
        lines += _wrapped(paragraph, width, "   " if paragraph[:1].isdigit() else "")
        lines += [] if paragraph else [""]
    lines += ["", _HEAD if weeks else f"{_HEAD} (min)"]
    rows = _weeks(plan.days) if weeks else [_row(day) for day in plan.days]
    for head, text in rows:
        lines += _wrapped(f"{head}{text}", width, _INDENT)
    lines += [f"{_date(plan.date)}  the interview", ""]
    for paragraph in (*([_OWN_MINUTES] if own else []), *_advice(plan)):
        lines += _wrapped(paragraph, width)
    return [*lines, *_settings_lines(plan, settings, config)]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace(_FIXED, " ") for line in lines]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{_FIXED}%"


def _date(when: date) -> str:
    return f"{when:%a} {when.day:2} {when:%b}"


def _verdict(plan: "StudyPlan", settings: Settings) -> Iterator[str]:
    days = len(plan.days)
    minutes = Counter(round(day.calendar_day.minutes) for day in plan.days if day.calendar_day.minutes > 0)
    usual = minutes.most_common(1)[0][0] if minutes else 0
    if days == 1:
        left = f"1 day, {usual} minutes"
    else:
        left = f"{days} days, {usual} minutes a day" if usual else f"{days} days, all free"
    yield f"Interview on {plan.date:%A}, {plan.date.day} {plan.date:%B %Y}: {left}."
    yield ""
    verdict = "on target" if plan.recall >= plan.target else "below the target"
    yield (
        f"Expected recall on the day: {_percent(plan.recall)} (80{_FIXED}% interval {100 * plan.low:.0f}-"
        f"{100 * plan.high:.0f}), {verdict} of {_percent(plan.target)}."
    )
    yield (
        f"Questions {_percent(plan.questions)}, with {_percent(plan.seen)} of {plan.cards} cards seen; "
        f"code {_percent(plan.code)}, with {plan.written} of {plan.exercises} exercises passed."
    )
    if plan.choice.policy != plan.choice.usual:
        present = f"{settings.new_per_day} new a day, desired retention {settings.desired_retention:.2f}"
        what = f"Your present settings ({present})" if _changed(plan, settings) else "The usual order of work"
        yield f"{what} would give {_percent(plan.usual)} in the same time."


def _ways(plan: "StudyPlan") -> Iterator[str]:
    if not plan.alternatives:
        return
    yield ""
    yield "Three ways out:"
    for number, way in enumerate(plan.alternatives, 1):
        yield f"{number}. {_way(way, plan)}"


def _way(way: "Alternative", plan: "StudyPlan") -> str:
    from quizapp.scheduling.planner.alternatives import DROP, TIME

    if way.kind == TIME:
        if way.reaches:
            return f"More time: {way.minutes} more minutes a day give {_percent(way.recall)}."
        if not way.minutes:
            return "More time: the days are full."
        return f"More time: even {way.minutes} more minutes a day give only {_percent(way.recall)}."
    if way.kind == DROP:
        if not way.reaches:
            return f"Less material: even a single topic would only reach {_percent(way.recall)}."
        what, cost, recall = _left_out(way, plan), _percent(way.cost), _percent(way.recall)
        return f"Less material: {what} (losing {cost} of the weight) and reach {recall} of the rest."
    target = floor(100 * plan.recall) / 100
    if target < _LEAST_TARGET:
        return f"Accept {_percent(plan.recall)}."
    return f"Accept {_percent(plan.recall)}: `target = {target:.2f}` under [plan] in the settings."


def _left_out(way: "Alternative", plan: "StudyPlan") -> str:
    """Say what to leave out, or what to keep if that is shorter."""
    if way.levels:
        return f"leave out the {' and '.join(way.levels)} questions"
    kept = [topic for topic in plan.topics if topic not in way.topics]
    if len(kept) < len(way.topics):
        return f"keep only {', '.join(kept)}"
    return f"leave out {', '.join(way.topics)}"


def _row(day: "PlannedDay") -> tuple[str, str]:
    if day.calendar_day.minutes <= 0 and not day.minutes:
        return f"{_date(day.calendar_day.date)}    -", "  free"
    extra = [f"{slug} {_minutes(s)}{'' if finished else ' (part)'}" for slug, s, finished in _merged([day])]
    if day.calendar_day.rehearsal:
        extra.insert(0, f"{day.calendar_day.rehearsal} {day.calendar_day.rehearsal_minutes}")
    figures = f"{day.minutes:>4}  {day.done.reviews:>7}  {day.done.new:>3}"
    return f"{_date(day.calendar_day.date)} {figures}", f"  {', '.join(extra)}".rstrip()


def _weeks(days: Sequence["PlannedDay"]) -> list[tuple[str, str]]:
    """One row per calendar week: totals, rehearsals and finished exercises."""
    rows = []
    for _, group in groupby(days, key=lambda day: day.calendar_day.date.isocalendar()[:2]):
        week = list(group)
        rehearsed = Counter(day.calendar_day.rehearsal for day in week if day.calendar_day.rehearsal)
        extra = [name if number == 1 else f"{number} {name}s" for name, number in rehearsed.items()]
        extra += [slug for slug, _, finished in _merged(week) if finished]
        minutes = sum(day.minutes for day in week)
        reviews, new = sum(day.done.reviews for day in week), sum(day.done.new for day in week)
        head = f"{_date(week[0].calendar_day.date)} {minutes:>4}  {reviews:>7}  {new:>3}"
        rows.append((head, f"  {', '.join(extra)}".rstrip()))
    return rows


def _merged(days: Sequence["PlannedDay"]) -> list[tuple[str, float, bool]]:
    """Add up the parts of each exercise within the days, in order."""
    parts: dict[str, tuple[float, bool]] = {}
    for day in days:
        for slug, seconds, finished in day.done.code:
            before, ended = parts.get(slug, (0.0, False))
            parts[slug] = (before + seconds, ended or finished)
    return [(slug, seconds, finished) for slug, (seconds, finished) in parts.items()]


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))}"


def _advice(plan: "StudyPlan") -> Iterator[str]:
    """Advice that the figures alone do not give: which topics come first, a last pass, the taper."""
    from quizapp.scheduling.planner.load_deck import TRACK

    policy = plan.policy
    soon = plan.days[0].calendar_day.date + timedelta(days=_WEEK_DAYS)
    topics = Counter[str]()
    for day in plan.days:
        if day.calendar_day.date < soon:
            topics.update(day.done.topics)
    if policy.order != plan.choice.usual.order and topics:
        if policy.order == TRACK:
            yield "New cards of your track come first: name it in `tracks` of the settings."
        else:
            names = [name for name, _ in topics.most_common(3)]
            yield f"New cards this week come from {', '.join(names)}: `quizapp drill --topic {names[0]}`."
    if policy.ahead:
        yield (
            "In the last days, also review cards that are not due, the least known first: `quizapp show ID`, "
            "then `quizapp answer ID good`."
        )
    if policy.late and any(day.done.new for day in plan.days):
        yield "New cards come until the end: so close to the day they help more than a rest."
    yield "The plan starts from what you know now: run it again each morning."


def _settings_lines(plan: "StudyPlan", settings: Settings, config: str) -> list[str]:
    """Say which settings to change so that the drill follows the plan, if any."""
    changed = _changed(plan, settings)
    best = f"Best desired retention found: {plan.policy.retention:.2f}"
    if not changed:
        return [f"{best}; your settings fit the plan."]
    lines = [
        f"{best}. To make the drill follow",
        "the plan on an average day, set above the first [table] of",
        f"  {config}",
    ]
    return lines + [f"    {key} = {value}" for key, value in changed.items()]


def _changed(plan: "StudyPlan", settings: Settings) -> dict[str, float]:
    wanted = plan.settings(settings.new_per_day, settings.reviews_per_day)
    present = {
        "desired_retention": settings.desired_retention,
        "new_per_day": settings.new_per_day,
        "reviews_per_day": settings.reviews_per_day,
    }
    return {key: value for key, value in wanted.items() if present[key] != value}


def incident_list(incidents: Sequence["ListedIncident"]) -> Iterator[str]:
    """One line per incident with name, level, topic and last marks, in the given order."""
    width = max(len(case.incident.name) for case in incidents)
    for case in incidents:
        one = case.incident
        yield f"{one.name:{width}}  {one.level:6}  {one.topic:15}  {case.standing}"


def incident_sheet(case: "ListedIncident", library: "IncidentLibrary", seconds: int) -> Iterator[str]:
    """Render what the learner sees when the clock starts: setup, symptom, and the cost of each reading."""
    one = case.incident
    yield one.title
    yield f"{one.level}, {one.topic}, {seconds // 60} minutes, {case.standing}"
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
