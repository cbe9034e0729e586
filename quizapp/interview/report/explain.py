"""The arithmetic of a score, line by line, from the stored report."""

from collections.abc import Iterator

from quizapp.incidents.diagnosis import compare_diagnosis
from quizapp.interview.report.live_text import live_lines
from quizapp.interview.report.model import MarkedQuestion, Report
from quizapp.interview.report.text import STATES, question_title, title_line


def explain(report: Report) -> str:
    """Show every mark with its terms, and how the total, its adjustment, interval and band follow."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    heading, _, title = title_line(report).partition(":")
    yield f"{heading} {report.id}:{title}"
    yield "Every mark is a sum of weight x share, rounded once (halves up)."
    for question in report.questions:
        yield from _question(question)
    if not report.form.has_total:
        return
    yield ""
    yield "Total: planned seconds x mark, over planned seconds"
    for question in report.questions:
        planned, mark = question.asked.planned, question.marks.total
        yield f"  {planned:>5} s x {mark:>3} = {planned * mark:>7}   {question.asked.card}"
    yield f"  {_division(report.questions)} -> {report.totals.raw}"
    yield f"  reached only: {_division(report.reached)} -> {report.totals.reached}"
    yield ""
    yield from _adjustment(report)
    yield ""
    yield "Dimensions: the same terms regrouped; level 1 below 40, 2 below 60, 3 below 80, else 4"
    for name, row in report.dimensions.items():
        yield f"  {name:17} {row.percent:>3} %  level {row.level}"
    interval = report.interval
    yield (
        f"Interval: 10th and 90th percentile of {interval.draws} totals over questions sampled with "
        f"replacement (seed {interval.seed}): {interval.low} to {interval.high}"
    )
    yield f"Band: {report.band.name}, because {report.band.why}"


def _division(questions: list[MarkedQuestion]) -> str:
    earned = sum(question.asked.planned * question.marks.total for question in questions)
    seconds = sum(question.asked.planned for question in questions)
    return f"{earned} / {seconds} = {earned / max(1, seconds):.3f}"


def _question(question: MarkedQuestion) -> Iterator[str]:
    asked, marking = question.asked, question.marking
    is_incident = asked.kind == "incident"
    yield ""
    yield f"{question_title(question)}: {STATES[asked.state]}"
    for point in question.points:
        unsupported = ", unsupported" if point.ticked and not point.supported else ""
        yield (f"    {point.kind:10} weight {point.weight} held {point.held:g}{unsupported}: {point.text}")
    for wrong in question.misconceptions:
        if wrong.stated:
            yield f"    misconception stated (-0.1 of core): {wrong.wrong}"
    for probe in question.follow_ups:
        if probe.asked:
            yield f"    follow-up held {probe.held:g}: {probe.ask}"
    if is_incident:
        yield from _incident(question)
    if marking.empty:
        shares = "no key point counts" if is_incident else "every share is 0"
        yield f"    nothing in the learner's own words: {shares}"
    total = 0.0
    for term in question.marks.terms:
        total += term.points
        yield f"  {term.term:17} {term.weight:>5g} x {term.share:.4f} = {term.points:>8.4f}   {term.how}"
    yield f"  {'sum':17} {total:>25.4f} -> {question.marks.total}"


def _incident(question: MarkedQuestion) -> Iterator[str]:
    asked = question.asked
    for name, stated, right, held in compare_diagnosis(asked.incident, asked.diagnosis, asked.bought):
        verdict = " (right)" if held == 1 else f" (right: {right})" if right else ""
        yield f"    {name}: {stated or 'nothing chosen'}{verdict}"
    for reading, row in asked.readings_bought():
        predicted = f"predicted {row.predicted}, " if row.predicted else ""
        yield f"    took {reading.title} ({reading.seconds} s): {predicted}was {row.outcome}"
    yield f"    cheapest path: {asked.incident.cheapest_text()}"
    yield from (f"    {line}" for line in live_lines(asked))


def _adjustment(report: Report) -> Iterator[str]:
    yield "Adjustment: self-marked mean - machine-marked mean by topic, times n / (n + 10)"
    any_topic = False
    excess = 0.0
    for topic, row in report.inflation.items():
        number = min(row.self_n, row.machine_n)
        if not number:
            continue
        any_topic = True
        seconds = sum(
            question.asked.planned
            for question in report.reached
            if question.in_words and question.asked.topic == topic
        )
        excess += seconds * row.inflation
        yield (
            f"  {topic}: ({row.self_sum}/{row.self_n} - {row.machine_sum}/{row.machine_n})"
            f" x {number}/{number + 10} = {row.inflation:+.2f}, on {seconds} planned seconds"
        )
    if not any_topic:
        yield "  no topic has both kinds of marks yet: nothing to adjust"
    change = excess / max(1, report.planned_seconds)
    yield f"  {report.totals.raw} - ({change:+.2f}, limited to 15) -> {report.totals.adjusted}"
