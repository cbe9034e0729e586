"""The report as one HTML file: no network, no script, light and dark, prints on A4."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from quizapp.interview.document import costliest, lost
from quizapp.interview.drawing import reliability, timeline
from quizapp.interview.words import (
    STATES,
    adjusted_line,
    band_line,
    clock,
    given_text,
    item_title,
    moment_line,
    right_text,
)

STYLE = """
:root{color-scheme:light dark;--bg:#ffffff;--fg:#1b1f27;--dim:#565d6b;--line:#c9ced8;--soft:#f1f3f7;
--good:#1a7f4b;--mid:#8a5a00;--bad:#b3261e;--accent:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--bg:#14171d;--fg:#e6e9ef;--dim:#a3abba;--line:#3a414e;--soft:#1e232c;
--good:#5fd08f;--mid:#e6b450;--bad:#ff8a80;--accent:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:56rem;padding:1.5rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1.05rem;margin:0}
.dim{color:var(--dim)}.band{font-size:1.3rem;font-weight:700;margin:.8rem 0 .2rem}
.score{font-size:3rem;font-weight:700;line-height:1;margin:0}
table{border-collapse:collapse;margin:.5rem 0;width:100%}caption{text-align:left;color:var(--dim);padding:.2rem 0}
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem .25rem 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right}
.bar{display:block;height:.8rem;background:var(--soft);border:1px solid var(--line);border-radius:3px;min-width:8rem}
.bar span{display:block;height:100%;background:var(--accent);border-radius:2px}
pre,.own{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);border-left:3px solid var(--line);
padding:.6rem .8rem;margin:.4rem 0;font-size:.92rem}
pre{font-family:ui-monospace,monospace}
.cols{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.cols>div{min-width:0}
article{border-top:1px solid var(--line);padding:1rem 0}
ul{padding-left:1.2rem;margin:.4rem 0}li{margin:.15rem 0}
.good{fill:var(--good)}.mid{fill:var(--mid)}.bad{fill:var(--bad)}.plan{fill:var(--soft);stroke:var(--line)}
.axis{stroke:var(--line)}.dot{fill:var(--accent)}
svg{display:block;width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--fg)}svg text.dim{fill:var(--dim)}
.yes{color:var(--good);font-weight:700}.no{color:var(--bad);font-weight:700}.half{color:var(--mid);font-weight:700}
code{font-family:ui-monospace,monospace;background:var(--soft);padding:0 .2rem}
@media (max-width:40rem){.cols{grid-template-columns:1fr}}
@page{size:A4;margin:16mm}
@media print{:root{--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--soft:#f4f4f4;--good:#1a7f4b;--mid:#8a5a00;
--bad:#b3261e;--accent:#1f5fbf}body{padding:0;max-width:none;font-size:10.5pt}
article,table,svg{break-inside:avoid-page}h2,h3{break-after:avoid}}
""".strip()
_MARKS = {1: ("yes", "✓", "held"), 0: ("no", "✗", "missing")}


def as_html(document: Mapping[str, Any]) -> str:
    """The whole report."""
    title = f"Mock interview: {document['title']}, {document['minutes']} minutes"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        f"{''.join(part + chr(10) for part in _parts(document, title))}</body></html>\n"
    )


def _parts(document: Mapping[str, Any], title: str) -> Iterator[str]:
    items = document["items"]
    seconds = sum(item["planned"] for item in items)
    yield f"<header><h1>{escape(title)}</h1>"
    when = document["started"][:16].replace("T", " ")
    yield f'<p class="dim">{when} UTC, id {escape(document["id"])}, seed {document["seed"]}</p></header>'
    yield "<main>"
    yield f'<section aria-labelledby="result"><h2 id="result">Result</h2><p class="score">{document["totals"]["raw"]}</p>'
    yield f'<p class="band">{escape(band_line(document))}.</p>'
    yield f"<p>{escape(document['band']['why'].capitalize())}; {escape(adjusted_line(document))}.</p></section>"
    yield from _dimensions(document)
    yield from _time(document)
    yield "<section><h2>Moments</h2><div class=cols><div><h3>Costliest</h3><ul>"
    yield from (f"<li>{escape(moment_line(item, seconds))}</li>" for item in costliest(items)[:3])
    yield "</ul></div><div><h3>Best</h3><ul>"
    best = sorted((i for i in items if i["marks"]["total"] >= 50), key=lambda i: (lost(i), i["number"]))[:3]
    yield from (f"<li>{escape(moment_line(item, seconds))}</li>" for item in best)
    yield "</ul></div></div></section>" if best else "<li>none above 50</li></ul></div></div></section>"
    yield from _after(document)
    yield from _confidence(document["calibration"])
    yield from _comparison(document)
    yield from _friends(document)
    yield "<section><h2>Items</h2>"
    for item in items:
        yield from _item(item)
    yield "</section></main>"
    facts = (
        f"quizapp {document['app']}, blueprint {document['blueprint']}, content {document['content_hash']}"
    )
    yield f'<footer><p class="dim">{escape(facts)}. The arithmetic: <code>quizapp mock --explain {escape(document["id"])}</code></p></footer>'


def _dimensions(document: Mapping[str, Any]) -> Iterator[str]:
    yield "<section><h2>Dimensions</h2><table><caption>Marks by dimension, level 1 to 4</caption><thead><tr>"
    yield '<th scope="col">Dimension</th><th scope="col">Share</th><th scope="col" class="n">Percent</th>'
    yield '<th scope="col" class="n">Level</th></tr></thead><tbody>'
    for name, row in document["dimensions"].items():
        yield (
            f'<tr><th scope="row">{escape(name.capitalize())}</th><td><span class="bar" aria-hidden="true">'
            f'<span style="width:{row["percent"]}%"></span></span></td><td class="n">{row["percent"]}</td>'
            f'<td class="n">{row["level"]}</td></tr>'
        )
    yield "</tbody></table></section>"


def _time(document: Mapping[str, Any]) -> Iterator[str]:
    yield "<section><h2>Where the time went</h2>"
    yield timeline(document)
    yield "<table><caption>Planned and used time by phase</caption><thead><tr>"
    yield '<th scope="col">Phase</th><th scope="col" class="n">Planned</th><th scope="col" class="n">Used</th></tr></thead><tbody>'
    for phase in document["phases"]:
        yield (
            f'<tr><th scope="row">{escape(phase["title"])}</th><td class="n">{clock(1000 * phase["seconds"])}</td>'
            f'<td class="n">{clock(phase["used_ms"])}</td></tr>'
        )
    yield "</tbody></table>"
    for event in document["clock"]["events"]:
        if event["event"] == "lost":
            yield f"<p>The terminal was away for {clock(event['ms'])}; the clock went on.</p>"
    yield "</section>"


def _after(document: Mapping[str, Any]) -> Iterator[str]:
    yield "<section><h2>What comes next</h2><ul>"
    for row in document["weak_topics"][:4]:
        if row["mean"] < 80:
            yield f"<li>Weak topic {escape(row['topic'])}: {row['mean']:g} of 100 over {row['items']} items</li>"
    if document["tomorrow"]:
        names = ", ".join(f"<code>{escape(name)}</code>" for name in document["tomorrow"])
        yield f"<li>First in tomorrow's queue, without a review: {names}</li>"
    for step in document["next_steps"]:
        yield f"<li>{escape(step['what'])}: <code>{escape(step['command'])}</code></li>"
    yield "</ul></section>"


def _confidence(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["items"]:
        return
    yield "<section><h2>Confidence</h2>"
    yield (
        f"<p>Brier score {found['brier']:.3f} (0 is perfect, 0.25 is a coin); bias {found['bias']:+.1f} points "
        f"({'too sure' if found['bias'] > 0 else 'too modest' if found['bias'] < 0 else 'even'}).</p>"
    )
    yield f'<div class="cols"><div>{reliability(found)}</div><div>'
    yield '<table><caption>Mean mark by confidence</caption><thead><tr><th scope="col">Confidence</th>'
    yield '<th scope="col" class="n">Items</th><th scope="col" class="n">Mean mark</th></tr></thead><tbody>'
    for row in found["bins"]:
        mean = "–" if row["mean_mark"] is None else f"{row['mean_mark']:g}"
        yield f'<tr><th scope="row">{row["confidence"]} %</th><td class="n">{row["items"]}</td><td class="n">{mean}</td></tr>'
    yield "</tbody></table></div></div></section>"


def _comparison(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["comparison"]
    if not found["last"]:
        return
    yield "<section><h2>Against the last interviews for this role</h2><ul>"
    for row in found["last"]:
        yield f"<li>{row['started'][:10]}, {row['minutes']} minutes: {row['total']}</li>"
    yield f"<li>Difference to their mean {found['difference']:+d}; pooled {document['pooled']['total']}</li></ul></section>"


def _friends(document: Mapping[str, Any]) -> Iterator[str]:
    if document["reviews"]:
        yield "<section><h2>Marked by others</h2><ul>"
        for review in document["reviews"]:
            yield (
                f"<li>{escape(review['by'])}: {review['total']} against your {document['totals']['raw']}, "
                f"agreement {review['agreement']['percent']} % of {review['agreement']['points']} points</li>"
            )
        yield "</ul></section>"


def _item(item: Mapping[str, Any]) -> Iterator[str]:
    marking, question = item["marking"], item["question"]
    yield f"<article><h3>{escape(item_title(item))}: {item['marks']['total']} of 100</h3>"
    sure = "" if item["confidence"] is None else f", confidence {item['confidence']} %"
    used = f"{clock(item['used_ms'])} of {clock(1000 * item['budget'])}"
    yield f'<p class="dim">{STATES[item["state"]].capitalize()}, {used}{sure}</p>'
    asked = question["title"] if item["kind"] == "coding" else question["prompt"]
    yield f"<p>{_code(asked.strip())}</p><div class=cols><div><h4>Your answer</h4>"
    given = given_text(item)
    tag = "pre" if item["kind"] in {"coding", "order"} else "div class=own"
    yield f"<{tag}>{escape(given) or '<em>nothing</em>'}</{tag.split(maxsplit=1)[0]}>"
    if item["kind"] == "coding":
        yield from _verdict(item)
    yield "</div><div>"
    if marking.get("points"):
        yield "<h4>Key points</h4><ul>"
        yield from (_point(point) for point in marking["points"])
        for wrong in marking["misconceptions"]:
            if wrong["stated"]:
                yield f'<li><span class="no">Said wrongly:</span> {_code(wrong["wrong"])} {_code(wrong["right"])}</li>'
        yield "</ul>"
    elif right_text(item):
        yield f"<h4>Right</h4><pre>{escape(right_text(item))}</pre>"
    yield "</div></div>"
    for probe, marked in zip(item["probes"], marking.get("probes", ()), strict=False):
        if marked["asked"]:
            yield f"<h4>Asked next: {_code(probe['ask'])}</h4>{_mark(marked['held'])}"
            yield f'<div class="own">{escape(probe["typed"].strip()) or "<em>nothing</em>"}</div><p>{_code(probe["answer"])}</p>'
    if item["kind"] != "coding" and question["answer"].strip():
        yield f"<h4>A strong answer</h4>{_blocks(question['answer'])}"
    terms = ", ".join(f"{t['term']} {t['points']:g} of {t['weight']:g}" for t in item["marks"]["terms"])
    effect = item["effect"] or {"rating": None, "why": "not recorded"}
    rated = f"{effect['rating']}, " if effect["rating"] else ""
    yield f'<p class="dim">Marks: {escape(terms)}. Schedule: {rated}{escape(effect["why"])}.</p></article>'


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
    marking = item["marking"]
    yield (
        f"<p>Verdict: {escape(marking['status'])}, {marking['behaviours_passed']} of {marking['behaviours']} "
        f"behaviours, {len(item['submissions'])} submissions, own check "
        f"{'run' if marking['checked'] else 'not run'}.</p>"
    )
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
