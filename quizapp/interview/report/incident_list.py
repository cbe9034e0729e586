"""Incidents as text for a terminal or a pipe; nothing here says what is wrong with a run."""

import textwrap
from collections.abc import Iterator, Sequence

from quizapp.incidents.model import Library
from quizapp.interview.history import when
from quizapp.interview.incident_pool import Case

COLUMNS = 80


def list_lines(found: Sequence[Case]) -> Iterator[str]:
    """A line for each incident, the one to sit next first: name, level, topic, last marks."""
    width = max(len(case.incident.name) for case in found)
    for case in found:
        one = case.incident
        yield f"{one.name:{width}}  {one.level:6}  {one.topic:15}  {case.standing}"


def sheet_lines(case: Case, library: Library, seconds: int) -> Iterator[str]:
    """What is before the learner when the clock starts: set-up, symptom, and the readings with prices."""
    one = case.incident
    yield one.title
    yield f"{one.level}, {one.topic}, {seconds // 60} minutes, {case.standing}"
    for text in (one.setup, one.symptom):
        yield ""
        yield from textwrap.wrap(" ".join(text.split()), COLUMNS)
    yield ""
    yield "Readings, each for seconds of the clock; you say first how it ends:"
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
        "replay it, mend it and prove it.",
        COLUMNS,
    )
    if case.had is not None:
        day, name = f"{when(case.had.report).astimezone():%Y-%m-%d}", case.had.report["id"]
        yield f"Last sat on {day}, {case.had.marks} of 100: quizapp mock report {name}"
    yield f"In a terminal, against the clock: quizapp incident {one.name}"
