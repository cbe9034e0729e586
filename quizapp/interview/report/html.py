"""The report as one HTML file: no network, no script, light and dark, prints on A4."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from quizapp.interview.blueprint import form_of
from quizapp.interview.report import incident
from quizapp.interview.report.build import best, costliest
from quizapp.interview.report.svg import reliability, sideways, timeline
from quizapp.interview.report.text import (
    STATES,
    absent_text,
    adjusted_line,
    agreement_line,
    band_line,
    calibration_line,
    clock,
    friend_rows,
    given_text,
    item_title,
    judged,
    moment_line,
    parts_line,
    right_text,
    terms_line,
    title_line,
)
from quizapp.util.text import plural

_MARKS = {1: ("yes", "✓", "held"), 0: ("no", "✗", "missing")}


def as_html(document: Mapping[str, Any]) -> str:
    """The whole report."""
    title = title_line(document)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_style()}</style></head>\n<body>\n"
        f"{''.join(part + chr(10) for part in _parts(document, title))}</body></html>\n"
    )


def _style() -> str:
    return (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


def _parts(document: Mapping[str, Any], title: str) -> Iterator[str]:
    form = form_of(document)
    yield f"<header><h1>{escape(title)}</h1>"
    when = document["started"][:16].replace("T", " ")
    yield f'<p class="dim">{when} UTC, id {escape(document["id"])}, seed {document["seed"]}</p></header>'
    yield "<main>"
    total = document["totals"]["raw"]
    yield f'<section aria-labelledby="result"><h2 id="result">Result</h2><p class="score">{total}</p>'
    if form.has_total:
        yield from _result(document)
    else:
        yield f"<p>{escape(parts_line(document))}.</p>"
        yield from _away(document)
        yield "</section>"
    yield from _after(document)
    if form.has_total:
        yield from _confidence(document["calibration"])
        yield from _comparison(document)
    yield from _friends(document)
    yield "<section><h2>Items</h2>"
    absent = f"<em>{absent_text(document)}</em>"
    for item in document["items"]:
        yield from _item(item, absent)
    yield "</section></main>"
    facts = (
        f"quizapp {document['app']}, blueprint {document['blueprint']}, content {document['content_hash']}"
    )
    command = f"<code>quizapp mock --explain {escape(document['id'])}</code>"
    yield f'<footer><p class="dim">{escape(facts)}. The arithmetic: {command}</p></footer>'


def _result(document: Mapping[str, Any]) -> Iterator[str]:
    """The band, which ends the section of the result; dimensions, time and moments of several items."""
    items = document["items"]
    seconds = sum(item["planned"] for item in items)
    yield f'<p class="band">{escape(band_line(document))}.</p>'
    why = document["band"]["why"].capitalize()
    yield f"<p>{escape(why)}; {escape(adjusted_line(document))}.</p></section>"
    yield from _dimensions(document)
    yield from _time(document)
    yield '<section><h2>Moments</h2><div class="cols"><div><h3>Costliest</h3><ul>'
    yield from (f"<li>{_code(moment_line(item, seconds))}</li>" for item in costliest(items)[:3])
    yield "</ul></div><div><h3>Best</h3><ul>"
    good = best(items)
    yield from (f"<li>{_code(moment_line(item, seconds))}</li>" for item in good)
    yield "</ul></div></div></section>" if good else "<li>no other from 50 on</li></ul></div></div></section>"


def _table(caption: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table whose first column heads its rows; cells are HTML, all but the first two columns numbers."""
    first, *others = heads
    top = f'<th scope="col">{first}</th>' + "".join(
        f'<th scope="col" class="n">{head}</th>' for head in others
    )
    body = ""
    for name, *rest in rows:
        cells = "".join(f'<td class="n">{cell}</td>' for cell in rest)
        body += f'<tr><th scope="row">{name}</th>{cells}</tr>'
    head = f"<caption>{caption}</caption><thead><tr>{top}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _dimensions(document: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (escape(name.capitalize()), _bar(row["percent"]), str(row["percent"]), str(row["level"]))
        for name, row in document["dimensions"].items()
    )
    heads = ("Dimension", "Share", "Percent", "Level")
    yield f"<section><h2>Dimensions</h2>{_table('Marks by dimension, level 1 to 4', heads, rows)}</section>"


def _bar(percent: int) -> str:
    return f'<span class="bar" aria-hidden="true"><span style="width:{percent}%"></span></span>'


def _time(document: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (escape(phase["title"]), clock(1000 * phase["seconds"]), clock(phase["used_ms"]))
        for phase in document["phases"]
    )
    yield f"<section><h2>Where the time went</h2>{timeline(document)}"
    yield _table("Planned and used time by phase", ("Phase", "Planned", "Used"), rows)
    yield from _away(document)
    yield "</section>"


def _away(document: Mapping[str, Any]) -> Iterator[str]:
    for event in document["clock"]["events"]:
        if event["event"] == "lost":
            yield f"<p>The terminal was away for {clock(event['ms'])}; the clock went on.</p>"


def _after(document: Mapping[str, Any]) -> Iterator[str]:
    yield "<section><h2>What comes next</h2><ul>"
    for row in document["weak_topics"][:4] if form_of(document).has_total else ():
        if row["mean"] < 80:
            mean = f"{row['mean']:g} of 100 over {plural(row['items'], 'item')}"
            yield f"<li>Costly topic {escape(row['topic'])}: {mean}</li>"
    if document["tomorrow"]:
        names = ", ".join(f"<code>{escape(name)}</code>" for name in document["tomorrow"])
        yield f"<li>First in tomorrow's queue, without a review: {names}</li>"
    for step in document["next_steps"]:
        yield f"<li>{escape(step['what'])}: <code>{escape(step['command'])}</code></li>"
    yield "</ul></section>"


def _confidence(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["items"]:
        return
    rows = (
        (
            f"{row['confidence']} %",
            str(row["items"]),
            "–" if row["mean_mark"] is None else f"{row['mean_mark']:g}",
        )
        for row in found["bins"]
    )
    table = _table("Mean mark by confidence", ("Confidence", "Items", "Mean mark"), rows)
    yield f"<section><h2>Confidence</h2><p>{escape(calibration_line(found))}</p>"
    yield f'<div class="cols"><div>{reliability(found)}</div><div>{table}</div></div></section>'


def _comparison(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["comparison"]
    if not found["last"]:
        return
    yield "<section><h2>Against the last interviews for this role</h2><ul>"
    for row in found["last"]:
        yield f"<li>{row['started'][:10]}, {row['minutes']} minutes: {row['total']}</li>"
    pooled = document["pooled"]["total"]
    yield f"<li>Difference to their mean {found['difference']:+d}; pooled {pooled}</li></ul></section>"


def _friends(document: Mapping[str, Any]) -> Iterator[str]:
    if not document["reviews"]:
        return
    names = [review["by"] for review in document["reviews"]]
    yield "<section><h2>Marked by others</h2>"
    rows = ((escape(title), str(own), *map(str, marks)) for title, own, marks in friend_rows(document))
    heads = ("Item", "You", *(escape(name) for name in names))
    yield sideways("Marks by others", _table("Your marks beside theirs", heads, rows))
    yield "<ul>"
    yield from (f"<li>{escape(agreement_line(review))}</li>" for review in document["reviews"])
    yield "</ul></section>"


def _item(item: Mapping[str, Any], absent: str) -> Iterator[str]:
    marking, question = item["marking"], item["question"]
    yield f"<article><h3>{escape(item_title(item))}: {item['marks']['total']} of 100</h3>"
    sure = "" if item["confidence"] is None else f", confidence {item['confidence']} %"
    used = f"{clock(item['used_ms'])} of {clock(1000 * item['budget'])}"
    yield f'<p class="dim">{STATES[item["state"]].capitalize()}, {used}{sure}</p>'
    asked = question["title"] if item["kind"] == "coding" else question["prompt"]
    cols = "cols code" if item["kind"] == "coding" else "cols"
    yield f'{_blocks(asked)}<div class="{cols}"><div><h4>Your answer</h4>'
    given = given_text(item)
    tag = "pre" if item["kind"] in {"coding", "order"} else "div class=own"
    yield f"<{tag}>{escape(given) or absent}</{tag.split(maxsplit=1)[0]}>"
    if item["kind"] == "coding":
        yield from _verdict(item)
    yield "</div><div>"
    if marking.get("points"):
        yield "<h4>Key points</h4><ul>"
        yield from (_point(point) for point in marking["points"])
        for wrong in marking["misconceptions"]:
            if wrong["stated"]:
                both = f"{_code(wrong['wrong'])} {_code(wrong['right'])}"
                yield f'<li><span class="no">Said wrongly:</span> {both}</li>'
        yield "</ul>"
    elif right_text(item):
        yield f"<h4>Right</h4><pre>{escape(right_text(item))}</pre>"
    yield "</div></div>"
    if item["kind"] == "incident":
        yield from incident.as_html(item, absent)
    for probe, marked in zip(item["probes"], marking.get("probes", ()), strict=False):
        if marked["asked"]:
            yield f"<h4>Asked next: {_code(probe['ask'])}</h4>{_mark(marked['held'])}"
            typed = escape(probe["typed"].strip()) or absent
            yield f'<div class="own">{typed}</div><p>{_code(probe["answer"])}</p>'
    if item["kind"] != "coding" and question["answer"].strip():
        yield f"<h4>A strong answer</h4>{_blocks(question['answer'])}"
    effect = item["effect"] or {"rating": None, "why": "not recorded"}
    rated = f"{effect['rating']}, " if effect["rating"] else ""
    schedule = f"Schedule: {rated}{escape(effect['why'])}"
    yield f'<p class="dim">Marks: {escape(terms_line(item))}. {schedule}.</p></article>'


def _point(point: Mapping[str, Any]) -> str:
    shown = point["quote"] or ", ".join(point["words"])
    note = f' <span class="dim">you said: {escape(shown)}</span>' if point["held"] and shown else ""
    if point["ticked"] and not point["supported"]:
        note = ' <span class="dim">unsupported</span>'
    must = " <strong>must</strong>" if point["weight"] == 3 else ""
    return f"<li>{_mark(point['held'])} {_code(point['text'])}{must}{note}</li>"


def _mark(held: float) -> str:
    style, sign, word = _MARKS.get(int(held) if held in (0, 1) else -1, ("half", "½", "half"))
    return f'<span class="{style}"><span aria-hidden="true">{sign}</span> {word}</span>'


def _verdict(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"<p>Verdict: {escape(judged(item['marking'], len(item['submissions'])))}.</p>"
    if item["typed"].strip():
        yield f'<h4>Explained</h4><div class="own">{escape(item["typed"].strip())}</div>'


def _code(text: str) -> str:
    """Escaped text with `code` spans."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _blocks(text: str) -> str:
    """Paragraphs and fenced code."""
    out: list[str] = []
    lines: list[str] = []
    fence = False
    for line in [*text.strip().splitlines(), ""]:
        if line.strip().startswith("```"):
            out.append(_block(lines, code=fence))
            lines, fence = [], not fence
        elif line.strip() or fence:
            lines.append(line)
        else:
            out.append(_block(lines, code=False))
            lines = []
    out.append(_block(lines, code=fence))
    return "".join(out)


def _block(lines: list[str], *, code: bool) -> str:
    if not lines:
        return ""
    if code or all(line.lstrip().startswith("|") for line in lines):
        return f"<pre>{escape(chr(10).join(lines))}</pre>"
    if all(line.startswith(("- ", "  ")) for line in lines):
        rows = " ".join(lines).split("- ")[1:] if lines[0].startswith("- ") else [" ".join(lines)]
        return "<ul>" + "".join(f"<li>{_code(row.strip())}</li>" for row in rows) + "</ul>"
    return f"<p>{_code(' '.join(lines))}</p>"
