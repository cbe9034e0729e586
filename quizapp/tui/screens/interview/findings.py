"""The texts of the marking screen for an answer: the learner's words and the machine's findings."""

from collections.abc import Iterator

from textual.content import Content
from textual.visual import VisualType

from quizapp.incidents.diagnosis import compare_diagnosis
from quizapp.interview.code_review.review_text import (
    JUDGED_PARTS,
    difference,
    fault_place,
    fix_text,
    parts,
    verdict_sentence,
)
from quizapp.interview.marking.model import (
    CodingMarking,
    EstimateMarking,
    MachineMarking,
    Marking,
    ReviewMarking,
)
from quizapp.interview.marking.propose import mark_words
from quizapp.interview.report.live_text import live_lines, reference_lines, repair_lines
from quizapp.interview.report.text import given_text, right_text, verdict_line
from quizapp.interview.scoring.live_terms import MEASURED_TERMS
from quizapp.interview.scoring.review_terms import review_result
from quizapp.interview.scoring.terms import terms_of
from quizapp.interview.session.question import ESTIMATE, IN_WORDS, INCIDENT, REVIEW, InterviewQuestion
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.answer_box import light_evidence
from quizapp.util.sanitize import escape_controls

_SIGNS = {1: "✓", 0.5: "½", 0: "✗", None: "–"}


def own_text(item: InterviewQuestion, *, blind: bool) -> Content:
    """The answer as the learner gave it."""
    if item.kind in IN_WORDS:
        text = item.typed.strip()
        if blind:
            return plain(text)
        nothing = Content.styled("nothing said", "$text-muted")
        return light_evidence(text, mark_words(item)) if text else nothing
    if item.kind in ("coding", REVIEW) and item.typed.strip():
        return plain(item.typed.strip())
    shown = "" if item.kind == "coding" else given_text(item)
    if item.kind == ESTIMATE:
        shown = "\n".join(text for text in (item.typed.strip(), shown) if text)
    return plain(shown) if shown else Content.styled("no answer", "$text-muted")


def found_text(item: InterviewQuestion, marking: Marking) -> VisualType:
    """The machine's findings; empty if the rubric shows all of them."""
    if not item.reached:
        later = "." if item.kind in (INCIDENT, REVIEW) else ", first in tomorrow's queue."
        return Content.styled(f"Not reached: no review{later}", "$text-muted")
    if item.kind == INCIDENT:
        return Document("\n".join(_diagnosis(item, marking)))
    if item.kind == "recall":
        return _silence(item) if marking.empty else Content("")
    if isinstance(marking, ReviewMarking):
        return Document("\n".join(_review(item, marking)))
    if isinstance(marking, CodingMarking):
        return plain(verdict_line(marking, len(item.submissions)), "bold")
    if isinstance(marking, EstimateMarking):
        style = {1.0: "bold $success", 0.5: "bold $warning"}.get(marking.number, "bold $error")
        return plain(f"{_SIGNS[marking.number]} {marking.note}", style)
    if not isinstance(marking, MachineMarking):
        raise TypeError(f"{item.kind} is not marked by the machine alone")
    right = marking.right_parts == marking.parts
    mark = f"{marking.right_parts} of {marking.parts}"
    head = "✓ right" if right else f"✗ {mark} right" if marking.parts > 1 else "✗ wrong"
    lines = [Content.styled(head, "bold $success" if right else "bold $error")]
    if marking.note and not right:
        lines.append(plain(marking.note, "$text-muted"))
    lines += [
        Content(""),
        Content.styled("Right", "bold"),
        Content(escape_controls(right_text(item))),
    ]
    return Content("\n").join(lines)


def _silence(item: InterviewQuestion) -> Content:
    text = "You only repeated the question, so nothing counts." if item.typed.strip() else "No answer: 0."
    return Content.styled(text, "$warning")


def _review(item: InterviewQuestion, marking: ReviewMarking) -> Iterator[str]:
    """What the review was, the marks by part, and what became of test and fix; in Markdown."""
    result = review_result(item, marking)
    yield f"**{verdict_sentence(result)}**"
    yield ""
    waiting = marking.judged is None and item.answered
    if waiting:
        yield "*The judge is running your test and your fix.*"
        yield ""
    for name, marks, most in parts(result):
        yield (
            f"- {name}: not known yet" if waiting and name in JUDGED_PARTS else f"- {name} {marks} of {most}"
        )
    for fault in result.review.faults:
        yield f"- {fault_place(fault.lines)}: {fault.why}"
    if not waiting:
        yield f"- your test: {result.proof.text or 'none.'}"
    if not result.review.is_correct:
        if not waiting:
            yield f"- your fix: {fix_text(result)}"
        yield ""
        yield "From the correct code to the code shown:"
        yield ""
        yield "```diff"
        yield from difference(result.review.original, result.review.shown)
        yield "```"


def _live(item: InterviewQuestion) -> Iterator[str]:
    """What the judge measured of a live incident, and both repairs; in Markdown."""
    if item.live is None:
        return
    yield "**The script**, measured by the judge"
    yield ""
    if item.live.measured is None:
        yield "The judge is running the script; its marks follow."
    else:
        yield from (f"- {line}" for line in live_lines(item))
    yield ""
    for title, lines in (("Your repair:", repair_lines(item)), ("The reference:", reference_lines(item))):
        if lines:
            yield from (title, "", "```diff", *lines, "```", "")


def _diagnosis(item: InterviewQuestion, marking: Marking) -> Iterator[str]:
    """The diagnosis beside the right one, each reading, and the marks that follow; in Markdown."""
    if marking.empty:
        yield f"*{_silence(item).plain}*"
        yield ""
    yield "**Diagnosis**, marked from the stored readings"
    yield ""
    for name, stated, right, held in compare_diagnosis(item.incident, item.diagnosis, item.bought):
        label = "What excludes the decoys" if name == "rejected" else "Right"
        note = "" if held == 1 or not right else f". {label}: {right}"
        yield f"- {_SIGNS[held]} {name}: {stated or 'nothing said'}{note}"
    yield ""
    bought = item.readings_bought()
    yield "**Readings**" if bought else "No reading was taken."
    yield ""
    for reading, purchase in bought:
        yield (
            f"- {_SIGNS[purchase.predicted_right]} {reading.title}, {reading.seconds} s: "
            f"you predicted {purchase.predicted}, it was {purchase.outcome}"
        )
    yield f"- cheapest path: {item.incident.cheapest_text()}"
    yield ""
    yield from _live(item)
    yield "**Marks**"
    yield ""
    shown = {"state to save", "cause", "place", "predictions", "evidence", "price", "cap", "hints"}
    if item.live is not None:
        shown |= {*MEASURED_TERMS}
    for term in terms_of(item, marking):
        if term.name in shown:
            of = f" of {float(term.weight):g}" if term.weight > 0 else ""
            yield f"- {term.name} {float(term.points):.3g}{of}: {term.how}"
