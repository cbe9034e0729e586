"""The reveal of a code review: marks, faults, the difference, and what the judge said."""

from collections.abc import Iterator

from textual.content import Content

from quizapp.bank.model import Exercise
from quizapp.interview.code_review.model import ReviewResult
from quizapp.interview.code_review.review_text import (
    difference,
    fault_place,
    fix_text,
    parts,
    verdict_sentence,
)
from quizapp.tui.rendering.layout import fold_code, hanging
from quizapp.tui.rendering.text import link, plain
from quizapp.tui.widgets.lines import Lines
from quizapp.tui.widgets.meter import meter

_CREDIT = {0.0: "not said", 0.5: "half said", 1.0: "said"}
_NAME = 13


class ReviewReveal(Lines):
    """Lays out a result; ``scheduled`` says what happens next."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._result: ReviewResult | None = None
        self._exercise: Exercise | None = None
        self._scheduled = ""

    def show(self, result: ReviewResult, exercise: Exercise, scheduled: str = "") -> None:
        """Show a result."""
        self._result, self._exercise, self._scheduled = result, exercise, scheduled
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """All lines of the reveal."""
        if self._result is None or self._exercise is None:
            return [Content("")]
        return list(_lines(self._result, self._exercise, self._scheduled, width))


def _lines(result: ReviewResult, exercise: Exercise, scheduled: str, width: int) -> Iterator[Content]:
    head = Content.assemble((f"{result.marks.total}", "bold $primary"), (" of 100", "$text-muted"))
    yield from hanging(head.append("  "), plain(verdict_sentence(result)), width)
    if scheduled:
        yield from plain(scheduled, "$success").wrap(width)
    yield Content("")
    bar = max(8, min(30, width - 30))
    for name, marks, most in parts(result):
        color = "$success" if 4 * marks >= 3 * most else "$warning" if marks else "$error"
        row = Content(f"{name.capitalize():{_NAME}}").append(meter([(marks / most, color, "█")], bar))
        yield row.append(f" {marks} of {most}")
    yield from _faults(result, exercise, width)
    yield Content("")
    yield from hanging(
        Content.styled("Your test  ", "bold"), plain(result.proof.text or "There was none."), width
    )
    if not result.review.is_correct:
        fix = fix_text(result)
        yield from hanging(Content.styled("Your fix   ", "bold"), plain(fix[0].upper() + fix[1:]), width)
    if result.review.faults:
        yield from _difference(result, width)
    if result.feedback:
        yield Content("")
        yield Content.styled("The judge would have said", "bold")
        for message in result.feedback:
            yield from hanging(Content("  "), plain(message), width)


def _faults(result: ReviewResult, exercise: Exercise, width: int) -> Iterator[Content]:
    marks = {mark.mutant: mark for mark in result.consequences}
    for number, fault in enumerate(result.review.faults):
        mark = marks[fault.mutant]
        hit = bool(set(result.answer.lines) & set(fault.lines))
        yield Content("")
        place = f"{fault_place(fault.lines).capitalize()}, {'found' if hit else 'not pointed at'}"
        yield Content.styled(place, "bold $success" if hit else "bold $error")
        yield from hanging(Content("  "), plain(fault.why), width)
        for behaviour in fault.behaviours:
            if behaviour in exercise.behaviours:
                text = plain(f"({behaviour}) {exercise.behaviours[behaviour]}", "$text-muted")
                yield from hanging(Content("  "), text, width)
        said = plain(mark.sentence or result.answer.words.strip() or "nothing", "italic")
        yield from hanging(Content("  You said: "), said, width)
        credit = Content.styled(f"{number + 1} ", "bold $primary").append(
            _CREDIT.get(mark.held, f"{mark.held:g}")
        )
        note = "" if mark.sentence else "; without matching words, half at most"
        credit = credit.append(Content.styled(note, "$text-muted"))
        yield Content("  ").append(link(credit, f"screen.credit({number})"))


def _difference(result: ReviewResult, width: int) -> Iterator[Content]:
    yield Content("")
    yield Content.styled("From the correct code to the code shown", "bold")
    for line in difference(result.review.original, result.review.shown):
        style = {"+": "$error", "-": "$success", "@": "$primary"}.get(line[:1], "$text-muted")
        yield from fold_code(plain(line, style), width)
