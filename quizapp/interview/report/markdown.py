"""The report as Markdown: one page of findings, then a section per item."""

from collections.abc import Iterator, Mapping
from typing import Any

from quizapp.interview.blueprint import form_of
from quizapp.interview.report import incident
from quizapp.interview.report.build import best, costliest
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

BAR = 20


def as_markdown(document: Mapping[str, Any]) -> str:
    """The whole report."""
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    form = form_of(document)
    yield f"# {title_line(document)}"
    yield ""
    yield f"{document['started'][:16].replace('T', ' ')} UTC, id `{document['id']}`, seed {document['seed']}"
    yield ""
    if form.has_total:
        yield from _result(document)
    else:
        yield f"**{parts_line(document)}.**"
        yield ""
        yield from _away(document)
    yield from _after(document)
    if form.has_total:
        yield from _calibration(document["calibration"])
        yield from _comparison(document)
    yield from _friends(document)
    yield "## Items"
    absent = f"*{absent_text(document)}*"
    for item in document["items"]:
        yield from _item(item, absent)


def _result(document: Mapping[str, Any]) -> Iterator[str]:
    """Band, dimensions, time and moments: what only an interview of several items has."""
    items = document["items"]
    seconds = sum(item["planned"] for item in items)
    yield f"**{band_line(document)}.**"
    yield f"{document['band']['why'].capitalize()}; {adjusted_line(document)}."
    yield ""
    yield "## Dimensions"
    yield ""
    yield "```"
    for name, row in document["dimensions"].items():
        yield f"{name:17} {bar(row['percent'])} {row['percent']:>3}  level {row['level']} of 4"
    yield "```"
    yield ""
    yield from _time(document)
    yield from _moments("Costliest moments", costliest(items)[:3], seconds)
    yield from _moments("Best moments", best(items), seconds)


def bar(percent: int) -> str:
    """A bar of blocks."""
    full = round(percent * BAR / 100)
    return "█" * full + "░" * (BAR - full)


def _time(document: Mapping[str, Any]) -> Iterator[str]:
    yield "## Where the time went"
    yield ""
    yield "| phase | planned | used |"
    yield "| --- | ---: | ---: |"
    for phase in document["phases"]:
        yield f"| {phase['title']} | {clock(1000 * phase['seconds'])} | {clock(phase['used_ms'])} |"
    yield ""
    yield from _away(document)


def _away(document: Mapping[str, Any]) -> Iterator[str]:
    for event in document["clock"]["events"]:
        if event["event"] == "lost":
            yield f"The terminal was away for {clock(event['ms'])}; the clock went on."
            yield ""


def _moments(title: str, items: list[Mapping[str, Any]], seconds: int) -> Iterator[str]:
    if items:
        yield f"## {title}"
        yield ""
        for item in items:
            yield f"- {moment_line(item, seconds)}"
        yield ""


def _after(document: Mapping[str, Any]) -> Iterator[str]:
    weak = [row for row in document["weak_topics"] if row["mean"] < 80]
    if weak and form_of(document).has_total:
        yield "## Topics that cost most"
        yield ""
        for row in weak[:4]:
            yield f"- {row['topic']}: {row['mean']:g} of 100 over {plural(row['items'], 'item')}"
        yield ""
    yield "## What happens tomorrow"
    yield ""
    rated = [item for item in document["items"] if item["effect"] and item["effect"]["rating"]]
    counts = {
        name: sum(i["effect"]["rating"] == name for i in rated) for name in ("Again", "Hard", "Good", "Easy")
    }
    said = ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "none"
    yield f"- Reviews written: {said}."
    if document["tomorrow"]:
        names = ", ".join(f"`{name}`" for name in document["tomorrow"])
        yield f"- First in tomorrow's queue, without a review: {names}."
    for step in document["next_steps"]:
        yield f"- {step['what']}: `{step['command']}`"
    yield ""


def _calibration(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["items"]:
        return
    yield "## Confidence"
    yield ""
    yield calibration_line(found)
    yield ""
    yield "| confidence | items | mean mark |"
    yield "| ---: | ---: | ---: |"
    for row in found["bins"]:
        mean = "" if row["mean_mark"] is None else f"{row['mean_mark']:g}"
        yield f"| {row['confidence']} % | {row['items']} | {mean} |"
    yield ""
    for topic, row in found["topics"].items():
        yield f"- {topic}: bias {row['bias']:+.1f} over {row['items']} answers"
    if found["topics"]:
        yield ""


def _comparison(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["comparison"]
    if not found["last"]:
        return
    yield "## Against the last interviews for this role"
    yield ""
    for row in found["last"]:
        yield f"- {row['started'][:10]}, {row['minutes']} minutes: {row['total']}"
    yield (
        f"- Difference to their mean: {found['difference']:+d}. "
        f"Pooled with halves per 14 days: {document['pooled']['total']}."
    )
    yield ""


def _friends(document: Mapping[str, Any]) -> Iterator[str]:
    if not document["reviews"]:
        return
    names = [review["by"].replace("|", "\\|") for review in document["reviews"]]
    yield "## Marked by others"
    yield ""
    yield f"| item | you | {' | '.join(names)} |"
    yield f"| --- | ---: |{' ---: |' * len(names)}"
    for title, own, marks in friend_rows(document):
        yield f"| {title} | {own} | {' | '.join(map(str, marks))} |"
    yield ""
    yield from (f"- {agreement_line(review)}" for review in document["reviews"])
    yield ""


def _item(item: Mapping[str, Any], absent: str) -> Iterator[str]:
    marking = item["marking"]
    yield ""
    yield f"### {item_title(item)}: {item['marks']['total']} of 100"
    yield ""
    sure = "" if item["confidence"] is None else f", confidence {item['confidence']} %"
    first = "" if item["first_key_ms"] is None else f", first key after {clock(item['first_key_ms'])}"
    used = f"{clock(item['used_ms'])} of {clock(1000 * item['budget'])}"
    yield f"{STATES[item['state']].capitalize()}, {used}{first}{sure}."
    yield ""
    yield _quoted(item["question"]["prompt"] if item["kind"] != "coding" else item["question"]["title"])
    yield ""
    given = given_text(item)
    if item["marks"]["reached"]:
        yield "**Your answer**"
        yield ""
        fence = item["kind"] in {"coding", "order"}
        yield (f"```\n{given}\n```" if fence and given else given) or absent
        yield ""
    if right_text(item):
        yield "**Right**"
        yield ""
        yield f"```\n{right_text(item)}\n```" if item["kind"] == "order" else right_text(item)
        yield ""
    if item["kind"] == "incident":
        yield from incident.as_markdown(item, absent)
    for point in marking.get("points", ()):
        yield f"- {_box(point['held'])} {point['text']}{_evidence(point)}"
    for wrong in marking.get("misconceptions", ()):
        if wrong["stated"]:
            yield f"- ✗ said: “{wrong['wrong']}” {wrong['right']}"
    if marking.get("points"):
        yield ""
    yield from _probes(item, absent)
    if item["kind"] == "coding":
        yield from _verdict(item)
    elif item["question"]["answer"].strip():
        yield "**A strong answer**"
        yield ""
        yield item["question"]["answer"].strip()
        yield ""
    yield f"Marks: {terms_line(item)}."
    if item["effect"]:
        rated = f"{item['effect']['rating']}, " if item["effect"]["rating"] else ""
        due = f", due {item['effect']['due'][:10]}" if item["effect"]["due"] else ""
        yield f"Schedule: {rated}{item['effect']['why']}{due}."


def _box(held: float) -> str:
    return "[x]" if held == 1 else "[½]" if held else "[ ]"


def _evidence(point: Mapping[str, Any]) -> str:
    must = " **(must)**" if point["weight"] == 3 else ""
    if point["ticked"] and not point["supported"]:
        return f"{must} *(unsupported)*"
    shown = point["quote"] or ", ".join(point["words"])
    return f"{must} *(you said: {shown})*" if point["held"] and shown else must


def _probes(item: Mapping[str, Any], absent: str) -> Iterator[str]:
    for probe, marked in zip(item["probes"], item["marking"].get("probes", ()), strict=False):
        if not marked["asked"]:
            continue
        yield f"**Asked next:** {probe['ask']}"
        yield ""
        yield f"{_box(marked['held'])} {probe['typed'].strip() or absent}"
        yield ""
        yield f"*{probe['answer']}*"
        yield ""


def _verdict(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"Verdict: {judged(item['marking'], len(item['submissions']))}."
    if item["submissions"]:
        for test in item["submissions"][-1]["verdict"].get("tests", ()):
            if not test["passed"] and test["message"]:
                yield f"- {test['message'].splitlines()[0]}"
    if item["typed"].strip():
        yield ""
        yield f"Explained: {item['typed'].strip()}"
    yield ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
