"""Small texts that all forms of the report share."""

from collections.abc import Iterator, Mapping
from typing import Any

from quizapp.bank.answers import GAP
from quizapp.interview.blueprint import form_of
from quizapp.interview.scoring.incident_terms import parts
from quizapp.interview.session.question import EMPTY, IN_WORDS
from quizapp.util.text import number_text, plural

BANDS = {"strong": "Strong", "pass": "Pass", "below": "Below the pass mark"}
STATES = {
    "frozen": "answered",
    "cut": "cut at 150 % of its time",
    "lost": "lost with the terminal",
    "abandoned": "opened, not answered",
    "unreached": "not reached",
}


def clock(ms: float) -> str:
    """Milliseconds as minutes and seconds."""
    seconds = round(ms / 1000)
    return f"{seconds // 60}:{seconds % 60:02d}"


def band_line(document: Mapping[str, Any]) -> str:
    """Band, total and interval in one sentence."""
    totals, interval = document["totals"], document["interval"]
    name = BANDS[document["band"]["name"]]
    provisional = (
        " (provisional: fewer than three mocks in 30 days)" if document["pooled"]["provisional"] else ""
    )
    return (
        f"{name}{provisional}: {totals['raw']} of 100, 80 % interval {interval['low']} to {interval['high']}"
    )


def adjusted_line(document: Mapping[str, Any]) -> str:
    """Raw and adjusted side by side, with sign."""
    totals = document["totals"]
    change = totals["adjusted"] - totals["raw"]
    return (
        f"raw {totals['raw']}, adjusted {totals['adjusted']} ({change:+d} against the machine-marked items), "
        f"over the {totals['items_reached']} of {totals['items']} items reached {totals['reached']}"
    )


def title_line(document: Mapping[str, Any]) -> str:
    """What was sat, as the title of its report."""
    return form_of(document).title(document["title"], document["minutes"])


def parts_line(document: Mapping[str, Any]) -> str:
    """The mark of an incident sat by itself, and its parts, in one sentence."""
    item = document["items"][0]
    told = ", ".join(
        f"{part.name} {part.points:.3g}{f' of {part.weight:g}' if part.weight else ''}"
        for part in parts(item["marks"]["terms"])
    )
    return f"{item['marks']['total']} of 100: {told}"


def given_text(item: Mapping[str, Any]) -> str:
    """The learner's answer as text, whatever the kind."""
    given, question = item["given"], item["question"]
    if item["kind"] in IN_WORDS:
        return str(item["typed"]).strip()
    if item["kind"] == "coding":
        return str(item["code"]).strip("\n")
    if given in EMPTY:
        return ""
    if item["kind"] == "choice":
        return str(question["options"][given]["text"])
    if item["kind"] == "order":
        return "\n".join(f"{place}. {question['steps'][step]}" for place, step in enumerate(given, 1))
    if item["kind"] == "cloze":
        return ", ".join(str(gap) or "–" for gap in given)
    return f"{given} {question.get('unit', '')}".strip()


def absent_text(document: Mapping[str, Any]) -> str:
    """What stands where there is no answer."""
    return "left out" if document.get("redacted") else "nothing"


def friend_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, int, list[int | str]]]:
    """(item, own mark, the others' marks) of what others marked, and the totals."""
    reviews = document["reviews"]
    for item in document["items"]:
        columns = [review["items"].get(str(item["number"])) for review in reviews]
        if any(columns):
            marks = ["–" if column is None else column["mark"] for column in columns]
            yield f"{item['number'] + 1}. {item['card']}", item["marks"]["total"], marks
    yield "Total", document["totals"]["raw"], [review["total"] for review in reviews]


def agreement_line(review: Mapping[str, Any]) -> str:
    """How far somebody agrees with the learner, in a sentence."""
    found = review["agreement"]
    kappa = "" if found["kappa"] is None else f", weighted kappa {found['kappa']:.2f}"
    points = f"{found['points']} key points"
    return f"{review['by']} marks {found['percent']} % of {points} as you do{kappa}"


def right_text(item: Mapping[str, Any]) -> str:
    """The right answer of a machine-marked item in short; empty for others."""
    question = item["question"]
    if item["kind"] == "numeric":
        return f"{number_text(question['result'])} {question['unit']}".strip()
    if item["kind"] == "choice":
        return next(str(o["text"]) for o in question["options"] if o["right"])
    if item["kind"] == "order":
        return "\n".join(f"{place}. {step}" for place, step in enumerate(question["steps"], 1))
    if item["kind"] == "cloze":
        return str(GAP.sub(lambda match: match[1].split("|")[0].strip(), question["text"]))
    return ""


def item_title(item: Mapping[str, Any]) -> str:
    """An item in one line."""
    name = item["question"].get("title") or item["card"]
    return f"{item['number'] + 1}. {name} ({item['slot']}, {item['topic']})"


def moment_line(item: Mapping[str, Any], seconds: int) -> str:
    """A costly or good moment: what was lost of the whole."""
    lost = item["planned"] * (100 - item["marks"]["total"]) / max(1, seconds)
    name = " ".join(str(item["question"].get("title") or item["question"]["prompt"]).split()).rstrip(".")
    name = name if len(name) <= 80 else f"{name[:79]}…"
    name += "`" * (name.count("`") % 2)  # code that was cut ends with the line
    mark = item["marks"]["total"]
    cost = f", {lost:.1f} points of the total lost" if mark < 100 else ""
    return f"{name}: {mark} of 100{cost}, {STATES[item['state']]}"


def own_check(*, ran: bool) -> str:
    """Whether the code was checked before it was submitted for the first time, which is what counts."""
    return f"{'an' if ran else 'no'} own check before the first submission"


def judged(marking: Mapping[str, Any], submissions: int) -> str:
    """What the hidden tests said of the code, and how it was submitted."""
    text = f"{marking['status']}, {marking['behaviours_passed']} of {marking['behaviours']} behaviours"
    if not submissions:
        return text
    return f"{text}, {plural(submissions, 'submission')}, {own_check(ran=marking['checked'])}"


def calibration_line(found: Mapping[str, Any]) -> str:
    """Brier score and bias in a sentence."""
    side = "too sure" if found["bias"] > 0 else "too modest" if found["bias"] < 0 else "even"
    brier = f"Brier score {found['brier']:.3f} (0 is perfect, 0.25 is a coin)"
    return f"{brier}, bias {found['bias']:+.1f} points ({side})."


def terms_line(item: Mapping[str, Any]) -> str:
    """The terms of a mark in a sentence; what takes marks away stands with its sign alone."""
    return ", ".join(
        f"{t['term']} {t['points']:g} of {t['weight']:g}"
        if t["weight"] > 0
        else f"{t['term']} {t['points']:g}"
        for t in item["marks"]["terms"]
    )
