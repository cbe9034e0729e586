"""The one report of a loop: all questions of its rounds, scored together."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape

import msgspec

from quizapp.bank.model import Topic
from quizapp.interview import history
from quizapp.interview.report.model import (
    Band,
    BandResult,
    DimensionMark,
    MarkedQuestion,
    NextStep,
    Report,
    TotalInterval,
    WeakTopic,
)
from quizapp.interview.report.text import BANDS, NO_TOPICS
from quizapp.interview.scoring import score
from quizapp.interview.scoring.terms import terms_of
from quizapp.util.text import plural

SCHEMA = "quizapp.loop/1"
_WEAK = 80
_MOST_TOPICS, _MOST_STEPS = 4, 6


class LoopRound(msgspec.Struct):
    """A round of a loop that was sat; ``id`` is that of its own report."""

    round: str
    id: str
    minutes: int
    total: int
    band: Band


class LoopReport(msgspec.Struct):
    """All rounds of a loop that were sat, and the score over their questions, by planned seconds.

    ``missing`` are the rounds that were not sat; they do not count. ``total_reached`` is over the questions
    reached.
    """

    schema: str
    id: str
    role: str
    title: str
    pass_mark: int
    started: str
    finished: str
    rounds: list[LoopRound]
    missing: list[str]
    total: int
    total_reached: int
    interval: TotalInterval
    dimensions: dict[str, DimensionMark]
    band: BandResult
    weak_topics: list[WeakTopic]
    next_steps: list[NextStep]


def loop_report(loop_id: str, rounds: Sequence[str], reports: Sequence[Report]) -> LoopReport:
    """Build the report from those of its rounds, oldest first; ``rounds`` are all that it has."""
    first, last = reports[0], reports[-1]
    questions = [question for report in reports for question in report.questions]
    rows = _rows(questions)
    total = score.mean_mark(rows)
    dimensions = score.dimensions([(one.asked, terms_of(one.asked, one.marking)) for one in questions])
    low, high = score.interval(rows)
    sat = {report.round_name for report in reports}
    steps = {step.command: step for report in reports for step in report.next_steps}
    return LoopReport(
        schema=SCHEMA,
        id=loop_id,
        role=first.role,
        title=first.title,
        pass_mark=last.pass_mark,
        started=first.started,
        finished=last.finished,
        rounds=[
            LoopRound(one.round_name, one.id, one.minutes, one.totals.raw, one.band.name) for one in reports
        ],
        missing=[name for name in rounds if name not in sat],
        total=total,
        total_reached=score.mean_mark(_rows([one for one in questions if one.marks.reached])),
        interval=TotalInterval(low, high, score.DRAWS, score.DRAW_SEED),
        dimensions=dimensions,
        band=score.band(total, last.pass_mark, dimensions),
        weak_topics=history.weak_topics(questions),
        next_steps=[step for step in steps.values() if " mock " not in step.command][:_MOST_STEPS],
    )


def _rows(questions: Sequence[MarkedQuestion]) -> list[tuple[int, int]]:
    return [(question.asked.planned, question.marks.total) for question in questions]


def rendered_loop(report: LoopReport, form: str, topics: Mapping[str, Topic] = NO_TOPICS) -> str:
    """The report as Markdown (``md``), HTML or JSON."""
    if form == "json":
        return json.dumps(msgspec.to_builtins(report), indent=1, ensure_ascii=False) + "\n"
    text = "\n".join(_markdown(report, topics)) + "\n"
    if form != "html":
        return text
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(_title(report))}</title></head>\n<body>\n{body}</body></html>\n"
    )


def _title(report: LoopReport) -> str:
    number = len(report.rounds)
    whole = number + len(report.missing)
    return f"Loop: {report.title}, {number} of {plural(whole, 'round')}"


def _markdown(report: LoopReport, topics: Mapping[str, Topic]) -> Iterator[str]:
    yield f"# {_title(report)}"
    yield ""
    yield f"{report.started[:16].replace('T', ' ')} UTC, id `{report.id}`"
    yield ""
    interval = report.interval
    yield (
        f"**{BANDS[report.band.name]}: {report.total} of 100, 80 % interval {interval.low} to "
        f"{interval.high}.** {report.band.why[0].upper()}{report.band.why[1:]}. Over the questions reached: "
        f"{report.total_reached}."
    )
    yield ""
    yield "| round | minutes | total | band | report |"
    yield "| --- | ---: | ---: | --- | --- |"
    for row in report.rounds:
        command = f"`quizapp mock report {row.id}`"
        yield f"| {row.round} | {row.minutes} | {row.total} | {BANDS[row.band]} | {command} |"
    yield ""
    if report.missing:
        yield f"Not sat, and not counted: {', '.join(report.missing)}."
        yield ""
    yield "## Dimensions"
    yield ""
    for name, mark in report.dimensions.items():
        yield f"- {name}: {mark.percent} of 100, level {mark.level} of 4"
    yield ""
    if weak := [row for row in report.weak_topics if row.mean < _WEAK][:_MOST_TOPICS]:
        yield "## Topics that cost most"
        yield ""
        for topic in weak:
            name = topics[topic.topic].name if topic.topic in topics else topic.topic
            yield f"- {name}: {topic.mean:g} of 100 over {plural(topic.items, 'question')}"
        yield ""
    if report.next_steps:
        yield "## Next"
        yield ""
        for step in report.next_steps:
            yield f"- {step.what}: `{step.command}`"
