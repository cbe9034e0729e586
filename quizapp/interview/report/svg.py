"""The two pictures of the report as inline SVG; their meaning also stands in words."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from quizapp.interview.report.text import STATES, clock

WIDTH = 720
_ROW = 22
_LEFT = 196
_LABEL = 26


def timeline(document: Mapping[str, Any]) -> str:
    """Each item from its opening to its freezing, over the phases."""
    items = [item for item in document["items"] if item["opened_ms"] is not None]
    whole = max(1000 * 60 * document["minutes"], document["clock"]["elapsed_ms"])
    height = 34 + _ROW * max(1, len(items)) + 24
    scale = (WIDTH - _LEFT - 10) / whole
    said = "; ".join(
        f"{_name(i)} from {clock(i['opened_ms'])} to {clock(_end(i, document))}, {STATES[i['state']]}"
        for i in items
    )
    parts = list(_phases(document, scale, height))
    for row, item in enumerate(items):
        y = 30 + row * _ROW
        start, end = item["opened_ms"], _end(item, document)
        width = max(2.0, (end - start) * scale)
        budget = 1000 * item["planned"] * scale
        tone = "good" if item["marks"]["total"] >= 70 else "mid" if item["marks"]["total"] >= 50 else "bad"
        x = _LEFT + start * scale
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(_short(_name(item)))}</text>'
        )
        parts.append(f'<rect class="plan" x="{x:.1f}" y="{y + 3}" width="{budget:.1f}" height="12" rx="2"/>')
        parts.append(f'<rect class="{tone}" x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="12" rx="2"/>')
        at = min(x + max(width, budget) + 5, WIDTH - 24)
        parts.append(f'<text x="{at:.1f}" y="{y + 13}">{item["marks"]["total"]}</text>')
    title = "Timeline of the interview"
    return sideways(title, _svg("timeline", title, said or "No item was opened.", height, parts))


def sideways(label: str, inside: str) -> str:
    """What is wider than a small window, in a part that scrolls by itself and by keys."""
    return f'<div class="wide" role="group" tabindex="0" aria-label="{escape(label)}">{inside}</div>'


def _end(item: Mapping[str, Any], document: Mapping[str, Any]) -> int:
    used = item["used_ms"] + sum(probe["used_ms"] for probe in item["probes"])
    frozen = item["frozen_ms"]
    if frozen is None:
        return int(min(item["opened_ms"] + used, document["clock"]["elapsed_ms"]))
    return int(frozen + sum(probe["used_ms"] for probe in item["probes"]))


def _short(name: str) -> str:
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"


def _name(item: Mapping[str, Any]) -> str:
    return f"{item['number'] + 1} {item['question'].get('title') or item['card']}"


def _phases(document: Mapping[str, Any], scale: float, height: int) -> Iterator[str]:
    at = 0
    for phase in document["phases"]:
        x = _LEFT + at * scale
        yield f'<line class="axis" x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{height - 22}"/>'
        if phase["used_ms"] * scale > 40:
            yield f'<text class="dim" x="{x + 3:.1f}" y="14">{escape(phase["title"])}</text>'
        at += phase["used_ms"]
    for minute in range(0, document["minutes"] + 1, 5):
        x = _LEFT + 60_000 * minute * scale
        yield f'<text class="dim" x="{x:.1f}" y="{height - 6}" text-anchor="middle">{minute}</text>'


def reliability(found: Mapping[str, Any]) -> str:
    """Mean mark against confidence, with the diagonal."""
    size, low = 260, 48
    span = size - low - 16

    def x(percent: float) -> float:
        return low + span * percent / 100

    def y(percent: float) -> float:
        return 12 + span * (1 - percent / 100)

    rows = [row for row in found["bins"] if row["items"]]
    said = "; ".join(
        f"at {row['confidence']} % confidence {row['items']} items with a mean mark of {row['mean_mark']:g}"
        for row in rows
    )
    parts = [
        f'<line class="axis" x1="{x(0)}" y1="{y(0)}" x2="{x(100)}" y2="{y(100)}" stroke-dasharray="4 4"/>'
    ]
    for percent in (0, 50, 100):
        below = f'x="{x(percent):.1f}" y="{y(0) + 16:.1f}"'
        parts.append(f'<text class="dim" {below} text-anchor="middle">{percent}</text>')
        parts.append(
            f'<text class="dim" x="{low - 6}" y="{y(percent) + 4:.1f}" text-anchor="end">{percent}</text>'
        )
    for row in rows:
        radius = 4 + 2 * min(5, row["items"])
        at = f'cx="{x(row["confidence"]):.1f}" cy="{y(row["mean_mark"]):.1f}"'
        parts.append(f'<circle class="dot" {at} r="{radius}"/>')
    middle = x(50)
    parts.append(f'<text class="dim" x="{middle}" y="{size - 4}" text-anchor="middle">confidence, %</text>')
    turned = f'x="10" y="{y(50)}" transform="rotate(-90 10 {y(50)})"'
    parts.append(f'<text class="dim" {turned} text-anchor="middle">mean mark</text>')
    return _svg(
        "reliability", "Mean mark by confidence", said or "No confidence was given.", size, parts, size
    )


def _svg(name: str, title: str, said: str, height: int, parts: list[str], width: int = WIDTH) -> str:
    body = "".join(parts)
    return (
        f'<svg role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc" '
        f'viewBox="0 0 {width} {height}" style="max-width:{width}px">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(said)}</desc>{body}</svg>'
    )
