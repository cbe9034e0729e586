"""The arithmetic of a score, line by line, from the stored report."""

from collections.abc import Iterator, Mapping
from typing import Any

from quizapp.interview.blueprint import form_of
from quizapp.interview.report.incident import as_text
from quizapp.interview.report.text import STATES, item_title, title_line
from quizapp.interview.session.question import IN_WORDS, INCIDENT


def explain(document: Mapping[str, Any]) -> str:
    """Every mark with its terms, then how they make the total, the adjustment, the interval and the band."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    what, _, title = title_line(document).partition(":")
    yield f"{what} {document['id']}:{title}"
    yield "Every mark is a sum of weight x share, rounded half up once."
    items = document["items"]
    for item in items:
        yield from _item(item)
    if not form_of(document).has_total:
        return
    seconds = sum(item["planned"] for item in items)
    yield ""
    yield "Total: planned seconds x mark, over planned seconds"
    for item in items:
        mark = item["marks"]["total"]
        yield f"  {item['planned']:>5} s x {mark:>3} = {item['planned'] * mark:>7}   {item['card']}"
    earned = sum(item["planned"] * item["marks"]["total"] for item in items)
    totals = document["totals"]
    yield f"  {earned} / {seconds} = {earned / max(1, seconds):.3f} -> {totals['raw']}"
    reached = [item for item in items if item["marks"]["reached"]]
    own = sum(item["planned"] for item in reached)
    points = sum(item["planned"] * item["marks"]["total"] for item in reached)
    yield f"  reached only: {points} / {own} = {points / max(1, own):.3f} -> {totals['reached']}"
    yield ""
    yield from _adjusted(document, seconds)
    yield ""
    yield "Dimensions: the same terms regrouped, level 1 below 40, 2 below 60, 3 below 80, else 4"
    for name, row in document["dimensions"].items():
        yield f"  {name:17} {row['percent']:>3} %  level {row['level']}"
    interval = document["interval"]
    yield (
        f"Interval: 10th and 90th of {interval['draws']} totals of items drawn with replacement "
        f"(seed {interval['seed']}): {interval['low']} to {interval['high']}"
    )
    yield f"Band: {document['band']['name']}, because {document['band']['why']}"


def _item(item: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"{item_title(item)}: {STATES[item['state']]}"
    marking = item["marking"]
    for point in marking.get("points", ()):
        how = "" if point["supported"] or not point["ticked"] else ", unsupported"
        held = f"{point['held']:g}"
        yield f"    {point['kind']:10} weight {point['weight']} held {held}{how}: {point['text']}"
    for wrong in marking.get("misconceptions", ()):
        if wrong["stated"]:
            yield f"    misconception stated (-0.1 of core): {wrong['wrong']}"
    for probe in marking.get("probes", ()):
        if probe["asked"]:
            yield f"    follow-up held {probe['held']:g}: {probe['ask']}"
    if item["kind"] == INCIDENT:
        yield from as_text(item)
    if marking["empty"]:
        shares = "no key point counts" if item["kind"] == INCIDENT else "every share is 0"
        yield f"    no answer of its own: {shares}"
    total = 0.0
    for term in item["marks"]["terms"]:
        total += term["points"]
        yield (
            f"  {term['term']:17} {term['weight']:>5g} x {term['share']:.4f} = {term['points']:>8.4f}"
            f"   {term['how']}"
        )
    yield f"  {'sum':17} {total:>25.4f} -> {item['marks']['total']}"


def _adjusted(document: Mapping[str, Any], seconds: int) -> Iterator[str]:
    yield "Adjustment: self-marked mean - machine-marked mean by topic, times n / (n + 10)"
    used = False
    off = 0.0
    for topic, row in document["inflation"].items():
        number = min(row["self_n"], row["machine_n"])
        if not number:
            continue
        used = True
        own = sum(
            item["planned"]
            for item in document["items"]
            if item["kind"] in IN_WORDS and item["marks"]["reached"] and item["topic"] == topic
        )
        off += own * row["inflation"]
        yield (
            f"  {topic}: ({row['self_sum']}/{row['self_n']} - {row['machine_sum']}/{row['machine_n']})"
            f" x {number}/{number + 10} = {row['inflation']:+.2f}, on {own} planned seconds"
        )
    if not used:
        yield "  no topic has both kinds of marks yet: nothing to adjust"
    totals = document["totals"]
    change = off / max(1, seconds)
    yield f"  {totals['raw']} - ({change:+.2f}, limited to 15) -> {totals['adjusted']}"
