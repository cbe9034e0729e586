"""Draws the two pictures of the report as inline SVG, each with a description for screen readers."""

from collections.abc import Iterator, Sequence
from html import escape

from quizapp.interview.report.model import Calibration, MarkedQuestion, Report
from quizapp.interview.report.text import STATES, minutes_text

WIDTH = 720
_ROW = 22
_LEFT = 196
_LABEL_CELLS = 26


def timeline(report: Report) -> str:
    """Draw a bar for each question, from its opening to its freezing, over the phases."""
    opened = [question for question in report.questions if question.asked.opened_ms is not None]
    whole = max(1000 * 60 * report.minutes, report.clock.elapsed_ms)
    height = 34 + _ROW * max(1, len(opened)) + 24
    scale = (WIDTH - _LEFT - 10) / whole
    description = "; ".join(
        f"{_name(question)} from {minutes_text(question.asked.opened_ms or 0)} "
        f"to {minutes_text(_end(question, report))}, {STATES[question.asked.state]}"
        for question in opened
    )
    parts = list(_phases(report, scale, height))
    for row, question in enumerate(opened):
        parts += _question_bar(question, report, 30 + row * _ROW, scale)
    title = "Timeline of the interview"
    picture = _svg("timeline", title, description or "No question was opened.", height, parts)
    return scrollable(title, picture)


def scrollable(label: str, inside: str) -> str:
    """Wrap wide HTML in a container that scrolls by itself, also by keyboard."""
    return f'<div class="wide" role="group" tabindex="0" aria-label="{escape(label)}">{inside}</div>'


def _question_bar(question: MarkedQuestion, report: Report, y: int, scale: float) -> Iterator[str]:
    mark, start = question.marks.total, question.asked.opened_ms or 0
    # At least 2 pixels, so that a question left at once is still visible.
    width = max(2.0, (_end(question, report) - start) * scale)
    planned = 1000 * question.asked.planned * scale
    tone = "good" if mark >= 70 else "mid" if mark >= 50 else "bad"
    x = _LEFT + start * scale
    name = _name(question)
    name = name if len(name) <= _LABEL_CELLS else f"{name[: _LABEL_CELLS - 1]}…"
    yield f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>'
    yield f'<rect class="plan" x="{x:.1f}" y="{y + 3}" width="{planned:.1f}" height="12" rx="2"/>'
    yield f'<rect class="{tone}" x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="12" rx="2"/>'
    after = min(x + max(width, planned) + 5, WIDTH - 24)
    yield f'<text x="{after:.1f}" y="{y + 13}">{mark}</text>'


def _end(question: MarkedQuestion, report: Report) -> int:
    """When the question was left, in milliseconds of the interview's clock."""
    asked = question.asked
    follow_ups = sum(row.used_ms for row in asked.follow_ups)
    if asked.frozen_ms is None:
        return min((asked.opened_ms or 0) + asked.used_ms + follow_ups, report.clock.elapsed_ms)
    return asked.frozen_ms + follow_ups


def _name(question: MarkedQuestion) -> str:
    return f"{question.asked.number + 1} {question.asked.short_title or question.asked.card}"


def _phases(report: Report, scale: float, height: int) -> Iterator[str]:
    start_ms = 0
    for phase in report.phases:
        x = _LEFT + start_ms * scale
        yield f'<line class="axis" x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{height - 22}"/>'
        if phase.used_ms * scale > 40:
            yield f'<text class="dim" x="{x + 3:.1f}" y="14">{escape(phase.title)}</text>'
        start_ms += phase.used_ms
    for minute in range(0, report.minutes + 1, 5):
        x = _LEFT + 60_000 * minute * scale
        yield f'<text class="dim" x="{x:.1f}" y="{height - 6}" text-anchor="middle">{minute}</text>'


def reliability(calibration: Calibration) -> str:
    """Draw the mean mark against confidence, with the diagonal of perfect calibration."""
    size, low = 260, 48
    span = size - low - 16

    def x(percent: float) -> float:
        return low + span * percent / 100

    def y(percent: float) -> float:
        return 12 + span * (1 - percent / 100)

    rows = [(row, row.mean_mark) for row in calibration.bins if row.mean_mark is not None]
    description = "; ".join(
        f"at {row.confidence} % confidence {row.items} questions with a mean mark of {mean:g}"
        for row, mean in rows
    )
    parts = [
        f'<line class="axis" x1="{x(0)}" y1="{y(0)}" x2="{x(100)}" y2="{y(100)}" stroke-dasharray="4 4"/>'
    ]
    for percent in (0, 50, 100):
        below = f'x="{x(percent):.1f}" y="{y(0) + 16:.1f}"'
        parts.append(f'<text class="dim" {below} text-anchor="middle">{percent}</text>')
        beside = f'x="{low - 6}" y="{y(percent) + 4:.1f}"'
        parts.append(f'<text class="dim" {beside} text-anchor="end">{percent}</text>')
    for row, mean in rows:
        center = f'cx="{x(row.confidence):.1f}" cy="{y(mean):.1f}"'
        parts.append(f'<circle class="dot" {center} r="{4 + 2 * min(5, row.items)}"/>')
    parts.append(f'<text class="dim" x="{x(50)}" y="{size - 4}" text-anchor="middle">confidence, %</text>')
    turned = f'x="10" y="{y(50)}" transform="rotate(-90 10 {y(50)})"'
    parts.append(f'<text class="dim" {turned} text-anchor="middle">mean mark</text>')
    return _svg(
        "reliability", "Mean mark by confidence", description or "No confidence was given.", size, parts, size
    )


def _svg(
    name: str, title: str, description: str, height: int, parts: Sequence[str], width: int = WIDTH
) -> str:
    return (
        f'<svg role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc" '
        f'viewBox="0 0 {width} {height}" style="max-width:{width}px">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{"".join(parts)}</svg>'
    )
