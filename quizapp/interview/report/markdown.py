"""The report as Markdown: one page of findings, then a section per question."""

from collections.abc import Iterator

from quizapp.incidents.diagnosis import compare_diagnosis
from quizapp.interview.marking.model import PointMark
from quizapp.interview.report.live_text import live_lines, repair_lines
from quizapp.interview.report.model import MarkedQuestion, Report, best, costliest
from quizapp.interview.report.text import (
    STATES,
    absent_text,
    adjusted_line,
    agreement_line,
    away_lines,
    band_line,
    calibration_line,
    effect_line,
    given_text,
    minutes_text,
    moment_line,
    parts_line,
    peer_rows,
    pooled_lines,
    prompt_text,
    question_title,
    reviews_line,
    right_text,
    terms_line,
    title_line,
    verdict_line,
    weak_topic_lines,
)
from quizapp.util.text import plural

BAR_CELLS = 20


def as_markdown(report: Report) -> str:
    """Return the whole report."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {title_line(report)}"
    yield ""
    yield f"{report.started[:16].replace('T', ' ')} UTC, id `{report.id}`, seed {report.seed}"
    yield ""
    if report.form.has_total:
        yield from _result(report)
    else:
        yield f"**{parts_line(report)}.**"
        yield ""
        yield from _away(report)
    yield from _list("Topics that cost most", weak_topic_lines(report))
    yield from _tomorrow(report)
    if report.form.has_total:
        yield from _confidence(report)
        if report.comparison.last:
            yield from _list("Compared with the last interviews for this role", pooled_lines(report))
    yield from _peer_reviews(report)
    yield "## Questions"
    absent = f"*{absent_text(report)}*"
    for question in report.questions:
        yield from _question(question, absent)


def _result(report: Report) -> Iterator[str]:
    """Yield band, dimensions, time and moments, which a single incident does not have."""
    yield f"**{band_line(report)}.**"
    yield f"{report.band.why.capitalize()}; {adjusted_line(report)}."
    yield ""
    yield "## Dimensions"
    yield ""
    yield "```"
    for name, row in report.dimensions.items():
        yield f"{name:17} {_bar(row.percent)} {row.percent:>3}  level {row.level} of 4"
    yield "```"
    yield ""
    yield "## Where the time went"
    yield ""
    yield "| phase | planned | used |"
    yield "| --- | ---: | ---: |"
    for phase in report.phases:
        yield f"| {phase.title} | {minutes_text(1000 * phase.seconds)} | {minutes_text(phase.used_ms)} |"
    yield ""
    yield from _away(report)
    seconds = report.planned_seconds
    for title, questions in (
        ("Costliest moments", costliest(report.questions)[:3]),
        ("Best moments", best(report.questions)),
    ):
        yield from _list(title, (moment_line(question, seconds) for question in questions))


def _bar(percent: int) -> str:
    full = round(percent * BAR_CELLS / 100)
    return "█" * full + "░" * (BAR_CELLS - full)


def _away(report: Report) -> Iterator[str]:
    for line in away_lines(report):
        yield line
        yield ""


def _list(title: str, lines: Iterator[str]) -> Iterator[str]:
    if rows := [f"- {line}" for line in lines]:
        yield from (f"## {title}", "", *rows, "")


def _tomorrow(report: Report) -> Iterator[str]:
    yield "## What happens tomorrow"
    yield ""
    yield f"- Reviews written: {reviews_line(report)}."
    if report.tomorrow:
        names = ", ".join(f"`{name}`" for name in report.tomorrow)
        yield f"- First in tomorrow's queue, without a review: {names}."
    for step in report.next_steps:
        yield f"- {step.what}: `{step.command}`"
    yield ""


def _confidence(report: Report) -> Iterator[str]:
    calibration = report.calibration
    if not calibration.items:
        return
    yield "## Confidence"
    yield ""
    yield calibration_line(calibration)
    yield ""
    yield "| confidence | questions | mean mark |"
    yield "| ---: | ---: | ---: |"
    for row in calibration.bins:
        mean = "" if row.mean_mark is None else f"{row.mean_mark:g}"
        yield f"| {row.confidence} % | {row.items} | {mean} |"
    yield ""
    for topic, by_topic in calibration.topics.items():
        yield f"- {topic}: bias {by_topic.bias:+.1f} over {plural(by_topic.items, 'answer')}"
    if calibration.topics:
        yield ""


def _peer_reviews(report: Report) -> Iterator[str]:
    if not report.reviews:
        return
    names = [_cell(review.by) for review in report.reviews]
    yield "## Marked by others"
    yield ""
    yield f"| question | you | {' | '.join(names)} |"
    yield f"| --- | ---: |{' ---: |' * len(names)}"
    for title, yours, marks in peer_rows(report):
        yield f"| {title} | {yours} | {' | '.join(map(str, marks))} |"
    yield ""
    yield from (f"- {agreement_line(review)}" for review in report.reviews)
    yield ""


def _question(question: MarkedQuestion, absent: str) -> Iterator[str]:
    asked = question.asked
    yield ""
    yield f"### {question_title(question)}: {question.marks.total} of 100"
    yield ""
    confidence = "" if asked.confidence is None else f", confidence {asked.confidence} %"
    first = "" if asked.first_key_ms is None else f", first key after {minutes_text(asked.first_key_ms)}"
    used = f"{minutes_text(asked.used_ms)} of {minutes_text(1000 * asked.budget)}"
    yield f"{STATES[asked.state].capitalize()}, {used}{first}{confidence}."
    yield ""
    yield "\n".join(f"> {line}".rstrip() for line in prompt_text(asked).strip().splitlines())
    yield ""
    if question.marks.reached:
        given = given_text(asked)
        fenced = given and asked.kind in {"coding", "order"}
        yield from _block("Your answer", f"```\n{given}\n```" if fenced else given or absent)
    if right := right_text(asked):
        yield from _block("Right", f"```\n{right}\n```" if asked.kind == "order" else right)
    if asked.kind == "incident":
        yield from _incident(question, absent)
    for point in question.points:
        yield f"- {_box(point.held)} {point.text}{_evidence(point)}"
    for wrong in question.misconceptions:
        if wrong.stated:
            yield f"- ✗ you said: “{wrong.wrong}” {wrong.right}"
    if question.points:
        yield ""
    yield from _follow_ups(question, absent)
    if asked.kind == "coding":
        yield from _verdict(question)
    elif answer := asked.asked.answer.strip():
        yield from _block("A strong answer", answer)
    yield f"Marks: {terms_line(question.marks.terms)}."
    if question.effect:
        yield f"Schedule: {effect_line(question.effect)}."


def _block(title: str, text: str) -> Iterator[str]:
    yield from (f"**{title}**", "", text, "")


def _box(held: float) -> str:
    return "[x]" if held == 1 else "[½]" if held else "[ ]"


def _evidence(point: PointMark) -> str:
    must = " **(must)**" if point.weight == 3 else ""
    if point.ticked and not point.supported:
        return f"{must} *(unsupported)*"
    shown = point.quote or ", ".join(point.words)
    return f"{must} *(you said: {shown})*" if point.held and shown else must


def _follow_ups(question: MarkedQuestion, absent: str) -> Iterator[str]:
    for probe, marked in zip(question.asked.follow_ups, question.follow_ups, strict=False):
        if marked.asked:
            yield f"**Follow-up:** {probe.ask}"
            yield ""
            yield f"{_box(marked.held)} {probe.typed.strip() or absent}"
            yield ""
            yield f"*{probe.answer}*"
            yield ""


def _verdict(question: MarkedQuestion) -> Iterator[str]:
    asked = question.asked
    yield f"Verdict: {verdict_line(question.coding_marking, len(asked.submissions))}."
    if asked.submissions:
        for test in asked.submissions[-1].verdict.get("tests", ()):
            if not test["passed"] and test["message"]:
                yield f"- {test['message'].splitlines()[0]}"
    if asked.typed.strip():
        yield ""
        yield f"Explained: {asked.typed.strip()}"
    yield ""


def _incident(question: MarkedQuestion, absent: str) -> Iterator[str]:
    asked = question.asked
    yield "| | your diagnosis | right |"
    yield "| --- | --- | --- |"
    for name, stated, right, held in compare_diagnosis(asked.incident, asked.diagnosis, asked.bought):
        yield f"| {name} | {_cell(stated) or absent} | {'the same' if held == 1 else _cell(right)} |"
    yield ""
    bought = asked.readings_bought()
    if bought:
        yield "| reading | at | price | predicted | was | |"
        yield "| --- | ---: | ---: | --- | --- | --- |"
        for reading, row in bought:
            sign = {True: " ✓", False: " ✗", None: ""}[row.predicted_right]
            yield (
                f"| {reading.title} | {minutes_text(row.at_ms)} | {reading.seconds} s "
                f"| {row.predicted} | {row.outcome}{sign} | {_cell(reading.shows)} |"
            )
    else:
        yield "No reading was taken."
    yield ""
    yield f"Cheapest path: {asked.incident.cheapest_text()}. Hints shown: {asked.hints}."
    yield ""
    yield from (f"- {line}" for line in live_lines(asked))
    if changes := repair_lines(asked):
        yield from ("", "```diff", *changes, "```")
    yield ""


def _cell(text: str) -> str:
    """Join lines and escape bars, so that the text cannot end its table cell or row."""
    return " ".join(text.split()).replace("|", "\\|")
