"""The scorecard of a single incident: the parts of its mark and the terms of each."""

from textual.content import Content

from quizapp.interview.report.model import MarkTerm, Report
from quizapp.interview.report.text import STATES, MarkPart, incident_parts, minutes_text, term_title
from quizapp.interview.scoring.score import level_of
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.meter import meter
from quizapp.tui.widgets.score_card import LEVEL_COLORS, next_steps

_NAME = 17


def _result(report: Report, width: int) -> list[Content]:
    asked, mark = report.questions[0].asked, report.questions[0].marks.total
    used = f"{minutes_text(asked.used_ms)} of {minutes_text(1000 * asked.budget)}"
    sure = "" if asked.confidence is None else f", {asked.confidence} % sure"
    about = f"{asked.level.capitalize()}, {asked.topic}"
    facts = f"{STATES[asked.state].capitalize()}, {used}{sure}. {about}."
    head = Content.assemble((f"{mark}", f"bold {LEVEL_COLORS[level_of(mark)]}"), (" of 100", "$text-muted"))
    return [head, *Content.styled(facts, "$text-muted").wrap(width)]


def _marks(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Marks", "bold")]
    bar = max(8, min(40, width - 34))
    for part in incident_parts(report.questions[0].marks.terms):
        name = f"{part.name.capitalize():{_NAME}}"
        if not part.weight:
            lines.append(Content(name).append(Content.styled(f"{part.points:.3g}", "$error")))
            continue
        share = part.points / part.weight
        row = Content(name).append(meter([(share, LEVEL_COLORS[level_of(round(100 * share))], "█")], bar))
        lines.append(row.append(f" {part.points:.3g} of {part.weight:g}"))
        lines += hanging(Content("  "), plain(_terms(part), "$text-muted"), width)
    return lines


def _schedule(report: Report, width: int) -> list[Content]:
    effect = report.questions[0].effect
    lines = [Content.styled("Next", "bold")]
    if effect is not None:
        rated = f"{effect.rating}: " if effect.rating else ""
        due = f", so its kind of fault is due on {effect.due[:10]}" if effect.due else ""
        lines += plain(f"{rated}{effect.why}{due}.").wrap(width)
    if report.tomorrow:
        names = ", ".join(name.replace("exercise:", "the exercise ") for name in report.tomorrow)
        lines += plain(f"First in tomorrow's queue: {names}.").wrap(width)
    return [*lines, *next_steps(report, width)]


def _terms(part: MarkPart) -> str:
    return "; ".join(map(_term, part.terms))


def _term(term: MarkTerm) -> str:
    of = f" of {term.weight:g}" if term.weight > 0 else ""
    return f"{term_title(term)} {term.points:.3g}{of} ({term.how})"


RUN_PARTS = (_result, _marks, _schedule)
"""The parts of the scorecard. No band and no interval: one question says nothing about an interview."""
