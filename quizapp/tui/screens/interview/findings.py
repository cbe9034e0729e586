"""The marking screen's own words and machine's findings, by kind of item."""

from collections.abc import Iterator, Mapping
from typing import Any

from textual.content import Content
from textual.visual import VisualType

from quizapp.interview.report.text import given_text, right_text, verdict_line
from quizapp.interview.scoring.score import terms_of
from quizapp.interview.session.incident_snapshot import cheapest_text, committed, readings_bought
from quizapp.interview.session.question import IN_WORDS, INCIDENT, InterviewQuestion, points_of
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.answer_box import highlight_terms
from quizapp.util.sanitize import escape_controls

_SIGNS = {1: "✓", 0.5: "½", 0: "✗", None: "–"}


def own_text(item: InterviewQuestion, *, blind: bool) -> Content:
    """What the learner said."""
    if item.kind in IN_WORDS:
        text = item.typed.strip()
        if blind:
            return plain(text)
        return (
            highlight_terms(text, points_of(item)) if text else Content.styled("nothing said", "$text-muted")
        )
    if item.kind == "coding" and item.typed.strip():
        return plain(item.typed.strip())
    shown = "" if item.kind == "coding" else given_text(item)
    return plain(shown) if shown else Content.styled("no answer", "$text-muted")


def found_text(item: InterviewQuestion, marking: Mapping[str, Any]) -> VisualType:
    """What the machine found, as it is; empty where it found nothing of its own."""
    if not item.reached:
        later = "." if item.kind == INCIDENT else ", first in tomorrow's queue."
        return Content.styled(f"Not reached: no review{later}", "$text-muted")
    if item.kind == INCIDENT:
        return Document("\n".join(_diagnosis(item, marking)))
    if item.kind == "recall":
        return _silence(item) if marking["empty"] else Content("")
    if item.kind == "coding":
        return plain(verdict_line(marking, len(item.submissions)), "bold")
    right = marking["right_parts"] == marking["parts"]
    mark = f"{marking['right_parts']} of {marking['parts']}"
    head = "✓ right" if right else f"✗ {mark} right" if marking["parts"] > 1 else "✗ wrong"
    lines = [Content.styled(head, "bold $success" if right else "bold $error")]
    if marking["note"] and not right:
        lines.append(plain(marking["note"], "$text-muted"))
    lines += [
        Content(""),
        Content.styled("Right", "bold"),
        Content(escape_controls(right_text(item))),
    ]
    return Content("\n").join(lines)


def _silence(item: InterviewQuestion) -> Content:
    said = "Nothing of your own was said, so nothing counts." if item.typed.strip() else "Empty: 0."
    return Content.styled(said, "$warning")


def _diagnosis(item: InterviewQuestion, marking: Mapping[str, Any]) -> Iterator[str]:
    """The diagnosis beside the right one, each reading, and the marks that follow; in Markdown."""
    row = item.as_json()
    if marking["empty"]:
        yield f"*{_silence(item).plain}*"
        yield ""
    yield "**Diagnosis**, marked from the stored readings"
    yield ""
    for name, said, right, held in committed(row):
        asides = "" if held == 1 or not right else f". {'Decoys' if name == 'rejected' else 'Right'}: {right}"
        yield f"- {_SIGNS[held]} {name}: {said or 'nothing said'}{asides}"
    yield ""
    bought = list(readings_bought(row))
    yield "**Readings**" if bought else "No reading was taken."
    yield ""
    for reading in bought:
        yield (
            f"- {_SIGNS[reading['right']]} {reading['title']}, {reading['seconds']} s: "
            f"said {reading['predicted']}, was {reading['outcome']}"
        )
    yield f"- cheapest path: {cheapest_text(item.question)}"
    yield ""
    yield "**Marks**"
    yield ""
    shown = ("state to save", "cause", "place", "predictions", "evidence", "price", "cap", "hints")
    for term in terms_of(item, marking):
        if term.name in shown:
            of = f" of {float(term.weight):g}" if term.weight > 0 else ""
            yield f"- {term.name} {float(term.points):.3g}{of}: {term.how}"
