"""Sentences and names that all forms of the report share."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from quizapp.bank.answers import GAP
from quizapp.bank.model import Topic
from quizapp.interview import RoundName
from quizapp.interview.code_review.review_text import answer_lines
from quizapp.interview.marking.model import CodingMarking
from quizapp.interview.report.model import (
    Agreement,
    Band,
    Calibration,
    MarkedQuestion,
    MarkTerm,
    NextStep,
    PeerReview,
    QuestionEffect,
    Report,
)
from quizapp.interview.scoring.terms import own_check_text
from quizapp.interview.session.asked import AskedChoice, AskedCloze, AskedNumber, AskedOrder
from quizapp.interview.session.question import IN_WORDS, REVIEW, InterviewQuestion
from quizapp.util.text import number_text, plural

BANDS = {Band.STRONG: "Strong", Band.PASS: "Pass", Band.BELOW: "Below the pass mark"}
STATES = {
    "frozen": "answered",
    "cut": "cut at 150 % of its time",
    "lost": "lost with the terminal",
    "abandoned": "opened, not answered",
    "unreached": "not reached",
}
RATINGS = ("Again", "Hard", "Good", "Easy")
NO_TOPICS: Mapping[str, Topic] = MappingProxyType({})
"""With this, the report shows the ids of topics instead of their names."""

_NAME_CELLS = 80


def minutes_text(ms: float) -> str:
    """Format milliseconds as minutes and seconds. More than an hour stays in minutes: ``64:05``."""
    seconds = round(ms / 1000)
    return f"{seconds // 60}:{seconds % 60:02d}"


# the whole report


def title_line(report: Report) -> str:
    """The title of the report."""
    mixed = report.round_name in ("", RoundName.MIXED)
    what = report.title if mixed else f"{report.title}, {report.round_name}"
    return report.form.title(what, report.minutes)


def band_line(report: Report) -> str:
    """Band, total and interval in one phrase."""
    provisional = " (provisional: fewer than three mocks in 30 days)" if report.pooled.provisional else ""
    return f"{BANDS[report.band.name]}{provisional}: {report.totals.raw} of 100{interval_text(report, ', ')}"


def interval_text(report: Report, before: str = "") -> str:
    """The interval of the total behind ``before``; empty for one question, which has no spread."""
    interval = report.interval
    return f"{before}80 % interval {interval.low} to {interval.high}" if report.totals.items > 1 else ""


def adjusted_line(report: Report) -> str:
    """The raw total, the adjusted total, and the total of the questions reached."""
    totals = report.totals
    change = totals.adjusted - totals.raw
    return (
        f"raw {totals.raw}, adjusted {totals.adjusted} ({change:+d} against the machine-marked questions), "
        f"{totals.reached} over the {totals.items_reached} of {totals.items} questions reached"
    )


def away_lines(report: Report) -> Iterator[str]:
    """A sentence for each time that the terminal was away."""
    for event in report.clock.events:
        if event.ms is not None:
            yield f"The terminal was away for {minutes_text(event.ms)}; the clock kept running."


def weak_topic_lines(report: Report) -> Iterator[str]:
    """The topics that cost the most marks; none for a single incident, which has one topic."""
    for row in report.weak_topics[:4] if report.form.has_total else ():
        if row.mean < 80:
            yield f"{row.topic}: {row.mean:g} of 100 over {plural(row.items, 'question')}"


def reviews_line(report: Report) -> str:
    """How many reviews of each rating were written."""
    ratings = [question.effect.rating for question in report.questions if question.effect]
    counts = [(name, ratings.count(name)) for name in RATINGS]
    return ", ".join(f"{number} {name}" for name, number in counts if number) or "none"


def calibration_line(calibration: Calibration) -> str:
    """Brier score and bias in one sentence; empty if no confidence was given."""
    if calibration.brier is None or calibration.bias is None:
        return ""
    side = confidence_side(calibration.bias)
    brier = f"Brier score {calibration.brier:.3f} (0 is perfect, 0.25 is a coin toss)"
    return f"{brier}, bias {calibration.bias:+.1f} points ({side})."


def confidence_side(bias: float) -> str:
    """Name the direction of a confidence bias."""
    return "overconfident" if bias > 0 else "underconfident" if bias < 0 else "even"


def pooled_lines(report: Report) -> Iterator[str]:
    """The last interviews for the role, and how this one compares."""
    comparison = report.comparison
    for row in comparison.last:
        yield f"{row.started[:10]}, {row.minutes} minutes: {row.total}"
    yield (
        f"Difference from their mean: {comparison.difference:+d}. "
        f"Pooled total, each interview's weight halving every 14 days: {report.pooled.total}."
    )


def absent_text(report: Report) -> str:
    """The text shown in place of a missing answer."""
    return "left out" if report.redacted else "nothing"


def peer_rows(report: Report) -> Iterator[tuple[str, int, list[int | str]]]:
    """Yield (question, your mark, others' marks) for each question that others marked, then the totals."""
    for question in report.questions:
        number = question.asked.number
        columns = [review.items.get(str(number)) for review in report.reviews]
        if any(columns):
            marks = ["–" if column is None else column.mark for column in columns]
            yield f"{number + 1}. {question.asked.card}", question.marks.total, marks
    yield "Total", report.totals.raw, [review.total for review in report.reviews]


def agreement_line(review: PeerReview) -> str:
    """Say in one sentence how well a reviewer agrees with the learner."""
    agreement = review.agreement
    points = f"{agreement.points} key points"
    return f"{review.by} marks {agreement.percent} % of {points} as you do{kappa_text(agreement)}"


def kappa_text(agreement: Agreement) -> str:
    """The weighted kappa after a comma; empty if there is none."""
    return "" if agreement.kappa is None else f", weighted kappa {agreement.kappa:.2f}"


# one question


def question_title(question: MarkedQuestion) -> str:
    """Number, name, slot and topic of a question in one line."""
    asked = question.asked
    name = asked.short_title or asked.card
    return f"{asked.number + 1}. {name} ({asked.slot}, {asked.topic})"


def prompt_text(asked: InterviewQuestion) -> str:
    """The prompt; for a coding task or a review only the title, because its prompt fills a page."""
    return asked.title if asked.kind in ("coding", REVIEW) else asked.asked.prompt


def given_text(item: InterviewQuestion) -> str:
    """The learner's answer as text, for every kind of question."""
    if item.kind in IN_WORDS:
        return item.typed.strip()
    if item.kind == "coding":
        return item.code.strip("\n")
    if item.kind == REVIEW:
        return "\n".join(answer_lines(item.reviewed.review, item.review_answer)) if item.review else ""
    if not item.has_given:
        return ""
    match item.asked:
        case AskedChoice(options=options) if isinstance(item.given, int):
            return options[item.given].text
        case AskedOrder(steps=steps):
            return "\n".join(f"{place}. {steps[step]}" for place, step in enumerate(item.sequence, 1))
        case AskedCloze():
            return ", ".join(word or "–" for word in item.gaps)
        case AskedNumber(unit=unit):
            return f"{item.given} {unit}".strip()
        case _:
            return str(item.given)


def right_text(item: InterviewQuestion) -> str:
    """The right answer of a machine-marked question in short; empty for other kinds."""
    match item.asked:
        case AskedNumber(result=result, unit=unit):
            return f"{number_text(result)} {unit}".strip()
        case AskedChoice(options=options):
            return next(option.text for option in options if option.right)
        case AskedOrder(steps=steps):
            return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))
        case AskedCloze(text=text):
            return GAP.sub(lambda match: match[1].split("|")[0].strip(), text)
        case _:
            return ""


def moment_line(question: MarkedQuestion, seconds: int) -> str:
    """Describe a costly or good question: its mark, and the points of the total that it cost.

    ``seconds`` are the planned seconds of the whole interview.
    """
    asked, mark = question.asked, question.marks.total
    name = " ".join(asked.title.split()).rstrip(".")
    name = name if len(name) <= _NAME_CELLS else f"{name[: _NAME_CELLS - 1]}…"
    name += "`" * (name.count("`") % 2)  # close a code span that was cut off
    cost = f", {question.lost / max(1, seconds):.1f} points of the total lost" if mark < 100 else ""
    return f"{name}: {mark} of 100{cost}, {STATES[asked.state]}"


def verdict_line(marking: CodingMarking, submissions: int) -> str:
    """The result of the hidden tests, the number of submissions, and whether the learner checked first."""
    # What was submitted may have passed the first stages only, and then "passed" would be too much.
    unfinished = marking.status == "passed" and marking.behaviours_passed < marking.behaviours
    status = "not all stages were reached" if unfinished else marking.status
    text = f"{status}, {marking.behaviours_passed} of {marking.behaviours} behaviors"
    if not submissions:
        return text
    return f"{text}, {plural(submissions, 'submission')}, {own_check_text(ran=marking.checked)}"


def terms_line(marks: Sequence[MarkTerm]) -> str:
    """The terms of a mark in one phrase. A term that takes marks away shows only its points."""
    return ", ".join(
        f"{term_title(term)} {term.points:g} of {term.weight:g}"
        if term.weight > 0
        else f"{term_title(term)} {term.points:g}"
        for term in marks
    )


def term_title(term: MarkTerm) -> str:
    """The name of a term in prose; the stored name stays, because old reports have it."""
    return "all parts told" if term.term == "told whole" else term.term


def effect_line(effect: QuestionEffect | None) -> str:
    """The effect of a question on the schedule in one phrase."""
    if effect is None:
        return "not recorded"
    rated = f"{effect.rating}, " if effect.rating else ""
    due = f", due {effect.due[:10]}" if effect.due else ""
    return f"{rated}{effect.why}{due}"


# the parts of an incident's mark

_PARTS = {"replay plan": "reproducibility", "symptom shown": "reproducibility", "cause": "diagnosis",
          "fix": "fix", "healthy band": "fix", "explanation": "explanation", "no diagnosis": "cap",
          "hints": "hints"}  # fmt: skip
"""Names of the parts of the mark, keyed by the first term of each."""


class MarkPart(NamedTuple):
    """A part of an incident's mark: ``points`` earned out of ``weight``, and the terms behind them."""

    name: str
    points: float
    weight: float
    terms: tuple[MarkTerm, ...]


def incident_parts(terms: Sequence[MarkTerm]) -> list[MarkPart]:
    """Group the terms of an incident's mark into its parts. Hints only take marks away (weight 0)."""
    groups: list[list[MarkTerm]] = []
    for term in terms:
        if term.term in _PARTS:
            groups.append([])
        groups[-1].append(term)
    return [
        MarkPart(
            _PARTS[group[0].term],
            sum(term.points for term in group),
            sum(max(0, term.weight) for term in group),
            tuple(group),
        )
        for group in groups
    ]


def parts_line(report: Report) -> str:
    """The mark of a single incident and its parts in one phrase."""
    marks = report.questions[0].marks
    parts = ", ".join(
        f"{part.name} {part.points:.3g}{f' of {part.weight:g}' if part.weight else ''}"
        for part in incident_parts(marks.terms)
    )
    return f"{marks.total} of 100: {parts}"


# names of topics


def name_question_topics(report: Report, topics: Mapping[str, Topic]) -> Report:
    """Return a copy whose questions have topic names in place of ids. Trends read nothing else."""
    questions = [
        msgspec.structs.replace(
            question,
            asked=msgspec.structs.replace(question.asked, topic=_topic_name(question.asked.topic, topics)),
        )
        for question in report.questions
    ]
    return msgspec.structs.replace(report, questions=questions)


def name_topics(report: Report, topics: Mapping[str, Topic]) -> Report:
    """Return a copy for display with topic names in place of ids. Unknown ids stay."""
    replace = msgspec.structs.replace
    calibration = report.calibration
    return replace(
        name_question_topics(report, topics),
        inflation={_topic_name(topic, topics): row for topic, row in report.inflation.items()},
        calibration=replace(
            calibration,
            topics={_topic_name(topic, topics): row for topic, row in calibration.topics.items()},
        ),
        weak_topics=[replace(row, topic=_topic_name(row.topic, topics)) for row in report.weak_topics],
        next_steps=[_name_step(step, topics) for step in report.next_steps],
    )


def _topic_name(topic: str, topics: Mapping[str, Topic]) -> str:
    return topics[topic].name if topic in topics else topic


def _name_step(step: NextStep, topics: Mapping[str, Topic]) -> NextStep:
    # Only the wording changes. The command keeps the id, which is all that it accepts.
    command, _, topic = step.command.partition(" --topic ")
    if command != "quizapp drill" or not topic:
        return step
    return NextStep(f"Drill {_topic_name(topic, topics)}", step.command)
