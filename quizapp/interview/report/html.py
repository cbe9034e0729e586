"""The report as one HTML file: no network, no script, light and dark, prints on A4."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from quizapp.incidents.diagnosis import compare_diagnosis
from quizapp.interview.marking.model import MisconceptionMark, PointMark
from quizapp.interview.report.live_text import live_lines
from quizapp.interview.report.model import MarkedQuestion, Report, best, costliest
from quizapp.interview.report.svg import reliability, scrollable, timeline
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
    right_text,
    terms_line,
    title_line,
    verdict_line,
    weak_topic_lines,
)


def as_html(report: Report) -> str:
    """Return the whole report."""
    title = title_line(report)
    body = "".join(part + "\n" for part in _parts(report, title))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_style()}</style></head>\n<body>\n{body}</body></html>\n"
    )


def _style() -> str:
    return (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


def _parts(report: Report, title: str) -> Iterator[str]:
    yield f"<header><h1>{escape(title)}</h1>"
    when = report.started[:16].replace("T", " ")
    yield f'<p class="dim">{when} UTC, id {escape(report.id)}, seed {report.seed}</p></header>'
    yield "<main>"
    yield '<section aria-labelledby="result"><h2 id="result">Result</h2>'
    yield f'<p class="score">{report.totals.raw}</p>'
    if report.form.has_total:
        yield from _result(report)
    else:
        yield f"<p>{escape(parts_line(report))}.</p>"
        yield from _away(report)
        yield "</section>"
    yield from _next(report)
    if report.form.has_total:
        yield from _confidence(report)
        if report.comparison.last:
            rows = _list(map(escape, pooled_lines(report)))
            yield f"<section><h2>Compared with the last interviews for this role</h2>{rows}</section>"
    yield from _peer_reviews(report)
    yield "<section><h2>Questions</h2>"
    absent = f"<em>{absent_text(report)}</em>"
    for question in report.questions:
        yield from _question(question, absent)
    yield "</section></main>"
    facts = f"quizapp {report.app}, blueprint {report.blueprint}, content {report.content_hash}"
    command = f"<code>quizapp mock --explain {escape(report.id)}</code>"
    yield f'<footer><p class="dim">{escape(facts)}. The arithmetic: {command}</p></footer>'


def _result(report: Report) -> Iterator[str]:
    """Finish the section that the caller opened with the band; then add dimensions, time and moments."""
    yield f'<p class="band">{escape(band_line(report))}.</p>'
    yield f"<p>{escape(report.band.why.capitalize())}; {escape(adjusted_line(report))}.</p></section>"
    dimensions = (
        (escape(name.capitalize()), _bar(row.percent), str(row.percent), str(row.level))
        for name, row in report.dimensions.items()
    )
    heads = ("Dimension", "Share", "Percent", "Level")
    table = _table("Marks by dimension, level 1 to 4", heads, dimensions)
    yield f"<section><h2>Dimensions</h2>{table}</section>"
    phases = (
        (escape(phase.title), minutes_text(1000 * phase.seconds), minutes_text(phase.used_ms))
        for phase in report.phases
    )
    yield f"<section><h2>Where the time went</h2>{timeline(report)}"
    yield _table("Planned and used time by phase", ("Phase", "Planned", "Used"), phases)
    yield from _away(report)
    yield "</section>"
    costly = _moments(report, costliest(report.questions)[:3])
    good = _moments(report, best(report.questions)) or "<ul><li>No other mark of 50 or more</li></ul>"
    yield (
        f'<section><h2>Moments</h2><div class="cols"><div><h3>Costliest</h3>{costly}</div>'
        f"<div><h3>Best</h3>{good}</div></div></section>"
    )


def _moments(report: Report, questions: Sequence[MarkedQuestion]) -> str:
    seconds = report.planned_seconds
    return _list(_inline(moment_line(question, seconds)) for question in questions)


def _list(rows: Iterable[str]) -> str:
    """Wrap rows of HTML in a list; empty if there are none."""
    items = "".join(f"<li>{row}</li>" for row in rows)
    return f"<ul>{items}</ul>" if items else ""


def _table(caption: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Build a table of numbers. The first column holds the row headers, and all cells are HTML."""
    first, *others = heads
    top = f'<th scope="col">{first}</th>' + "".join(
        f'<th scope="col" class="n">{head}</th>' for head in others
    )
    body = ""
    for name, *rest in rows:
        cells = "".join(f'<td class="n">{cell}</td>' for cell in rest)
        body += f'<tr><th scope="row">{name}</th>{cells}</tr>'
    return f"<table><caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _bar(percent: int) -> str:
    return f'<span class="bar" aria-hidden="true"><span style="width:{percent}%"></span></span>'


def _away(report: Report) -> Iterator[str]:
    yield from (f"<p>{line}</p>" for line in away_lines(report))


def _next(report: Report) -> Iterator[str]:
    rows = [f"Costly topic {escape(line)}" for line in weak_topic_lines(report)]
    if report.tomorrow:
        names = ", ".join(f"<code>{escape(name)}</code>" for name in report.tomorrow)
        rows.append(f"First in tomorrow's queue, without a review: {names}")
    rows += [f"{escape(step.what)}: <code>{escape(step.command)}</code>" for step in report.next_steps]
    yield f"<section><h2>What comes next</h2>{_list(rows)}</section>"


def _confidence(report: Report) -> Iterator[str]:
    calibration = report.calibration
    if not calibration.items:
        return
    rows = (
        (
            f"{row.confidence} %",
            str(row.items),
            "–" if row.mean_mark is None else f"{row.mean_mark:g}",
        )
        for row in calibration.bins
    )
    table = _table("Mean mark by confidence", ("Confidence", "Questions", "Mean mark"), rows)
    yield f"<section><h2>Confidence</h2><p>{escape(calibration_line(calibration))}</p>"
    yield f'<div class="cols"><div>{reliability(calibration)}</div><div>{table}</div></div></section>'


def _peer_reviews(report: Report) -> Iterator[str]:
    if not report.reviews:
        return
    rows = ((escape(title), str(yours), *map(str, marks)) for title, yours, marks in peer_rows(report))
    heads = ("Question", "You", *(escape(review.by) for review in report.reviews))
    yield "<section><h2>Marked by others</h2>"
    yield scrollable("Marks by others", _table("Your marks beside theirs", heads, rows))
    yield _list(escape(agreement_line(review)) for review in report.reviews)
    yield "</section>"


def _question(question: MarkedQuestion, absent: str) -> Iterator[str]:
    asked = question.asked
    coding = asked.kind == "coding"
    yield f"<article><h3>{escape(question_title(question))}: {question.marks.total} of 100</h3>"
    confidence = "" if asked.confidence is None else f", confidence {asked.confidence} %"
    used = f"{minutes_text(asked.used_ms)} of {minutes_text(1000 * asked.budget)}"
    yield f'<p class="dim">{STATES[asked.state].capitalize()}, {used}{confidence}</p>'
    yield f'{_markdown(prompt_text(asked))}<div class="{"cols code" if coding else "cols"}">'
    yield "<div><h4>Your answer</h4>"
    given = escape(given_text(asked)) or absent
    yield f"<pre>{given}</pre>" if asked.kind in {"coding", "order"} else f'<div class="own">{given}</div>'
    if coding:
        yield f"<p>Verdict: {escape(verdict_line(question.coding_marking, len(asked.submissions)))}.</p>"
        if explained := asked.typed.strip():
            yield f'<h4>Explained</h4><div class="own">{escape(explained)}</div>'
    yield "</div><div>"
    if question.points:
        stated = [row for row in question.misconceptions if row.stated]
        yield "<h4>Key points</h4>"
        yield _list([*map(_point, question.points), *map(_wrong, stated)])
    elif right := right_text(asked):
        yield f"<h4>Right</h4><pre>{escape(right)}</pre>"
    yield "</div></div>"
    if asked.kind == "incident":
        yield from _incident(question, absent)
    for probe, marked in zip(asked.follow_ups, question.follow_ups, strict=False):
        if marked.asked:
            yield f"<h4>Follow-up: {_inline(probe.ask)}</h4>{_mark(marked.held)}"
            typed = escape(probe.typed.strip()) or absent
            yield f'<div class="own">{typed}</div>{_markdown(probe.answer)}'
    if not coding and asked.asked.answer.strip():
        yield f"<h4>A strong answer</h4>{_markdown(asked.asked.answer)}"
    terms, effect = escape(terms_line(question.marks.terms)), escape(effect_line(question.effect))
    yield f'<p class="dim">Marks: {terms}. Schedule: {effect}.</p></article>'


def _point(point: PointMark) -> str:
    shown = point.quote or ", ".join(point.words)
    note = f' <span class="dim">you said: {escape(shown)}</span>' if point.held and shown else ""
    if point.ticked and not point.supported:
        note = ' <span class="dim">unsupported</span>'
    must = " <strong>must</strong>" if point.weight == 3 else ""
    return f"{_mark(point.held)} {_inline(point.text)}{must}{note}"


def _wrong(row: MisconceptionMark) -> str:
    return f'<span class="no">You said:</span> {_inline(row.wrong)} {_inline(row.right)}'


def _mark(held: float) -> str:
    style, sign, word = (
        ("yes", "✓", "held") if held == 1 else ("half", "½", "half") if held else ("no", "✗", "missing")
    )
    return f'<span class="{style}"><span aria-hidden="true">{sign}</span> {word}</span>'


def _incident(question: MarkedQuestion, absent: str) -> Iterator[str]:
    asked = question.asked
    number = question.asked.number + 1
    diagnosis = [
        (escape(name.capitalize()), escape(stated) or absent, "the same" if held == 1 else escape(right))
        for name, stated, right, held in compare_diagnosis(asked.incident, asked.diagnosis, asked.bought)
    ]
    yield _wide_table(number, "Diagnosis", ("Part", "Your diagnosis", "Right"), diagnosis)
    readings = [
        (
            escape(reading.title),
            minutes_text(row.at_ms),
            f"{reading.seconds} s",
            escape(row.predicted),
            f"{escape(row.outcome)} {_prediction(row.predicted_right)}",
            escape(reading.shows),
        )
        for reading, row in asked.readings_bought()
    ]
    if readings:
        heads = ("Reading", "At", "Price", "Predicted", "Was", "Numbers")
        yield _wide_table(number, "Readings taken", heads, readings)
    cheapest = escape(asked.incident.cheapest_text())
    yield f'<p class="dim">Cheapest path: {cheapest}. Hints shown: {asked.hints}.</p>'
    if lines := [f"<li>{escape(line)}</li>" for line in live_lines(asked)]:
        yield f"<ul>{''.join(lines)}</ul>"


def _wide_table(number: int, caption: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Build a table of texts that scrolls sideways in a small window."""
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = ""
    for name, *rest in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in rest)
        body += f'<tr><th scope="row">{name}</th>{cells}</tr>'
    table = f"<caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return scrollable(f"{caption}, question {number}", f'<table class="many">{table}</table>')


def _prediction(right: bool | None) -> str:
    if right is None:  # a redacted report leaves predictions out
        return ""
    style, sign, word = ("yes", "✓", "as predicted") if right else ("no", "✗", "not as predicted")
    return f'<span class="{style}"><span aria-hidden="true">{sign}</span> {word}</span>'


# Markdown of questions and answers


@cache
def _parser() -> MarkdownIt:
    """Build a parser for untrusted content: HTML is escaped, links and pictures stay plain text.

    The page must not load anything from the network. Headings become paragraphs, because headings inside a
    question would break the outline of the page. Tables get the same markup for screen readers as the page's
    own tables.
    """
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": True}).enable("table")
    parser.disable(["link", "image", "autolink", "reference"])
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("th_open", _head_cell)
    return parser


def _heading(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    del self, options, env
    return "<p><strong>" if tokens[index].nesting == 1 else "</strong></p>\n"


def _table_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    del self, options, env
    heads = [
        cell.content
        for opening, cell in itertools.pairwise(itertools.takewhile(_in_head, tokens[index:]))
        if opening.type == "th_open"
    ]
    caption = escape(f"Table: {', '.join(heads)}")
    box = f'<div class="wide" role="group" tabindex="0" aria-label="{caption}">'
    return f"{box}<table><caption>{caption}</caption>"


def _in_head(token: Token) -> bool:
    return token.type != "thead_close"


def _table_close(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    del self, tokens, index, options, env
    return "</table></div>\n"


def _head_cell(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[index].attrSet("scope", "col")
    return self.renderToken(tokens, index, options, env)


def _markdown(text: str) -> str:
    return str(_parser().render(text.strip()))


def _inline(text: str) -> str:
    """Render one line of Markdown without a paragraph around it."""
    return str(_parser().renderInline(text))
