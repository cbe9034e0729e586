"""Lets another person mark the frozen answers without seeing the learner's marks. Both are kept."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from quizapp.interview.marking.model import WordsMarking
from quizapp.interview.report.model import Agreement, MarkedQuestion, PeerMarks, PeerReview, Report
from quizapp.interview.report.text import kappa_text
from quizapp.interview.scoring import score
from quizapp.interview.scoring.calibration import kappa
from quizapp.interview.scoring.terms import terms_of
from quizapp.util.sanitize import escape_unprintable
from quizapp.util.text import plural

Ask = Callable[[str], str]
Say = Callable[[str], object]

_INTRO = """{what}, to be marked by you.
You see the question, the answer, and what a good answer contains, but not the learner's own marks.

Answer y (said), h (half of it) or n (not said). b goes back one step. Ctrl+C stops without storing."""
ANSWERS = {"y": 1.0, "yes": 1.0, "h": 0.5, "half": 0.5, "n": 0.0, "no": 0.0}


def answers_to_mark(report: Report) -> list[MarkedQuestion]:
    """The questions with something in words to mark: answers, explained code, workings, consequences."""
    return [question for question in report.reached if question.points and question.asked.typed.strip()]


def ask_reviewer(report: Report, ask: Ask, say: Say, width: int = 80) -> PeerReview:
    """Ask the reviewer for every mark in turn. ``ask`` may raise ``EOFError`` to stop halfway."""
    questions = answers_to_mark(report)
    sitting = report.form.describe(report.title, report.minutes)
    what = f"{plural(len(questions), 'answer')} from {sitting}"
    say(_fit(_INTRO.format(what=what), width))
    name = " ".join(ask("\nYour name: ").split()) or "a friend"
    steps = [step for question in questions for step in review_steps(question)]
    held: list[float] = []
    shown = None
    while len(held) < len(steps):
        step = steps[len(held)]
        if step.question is not shown:
            shown = step.question
            say(_fit(opening(step.question, questions), width))
        answer = _ask_held(_fit(step.text, width, "    "), step.halves, ask, say)
        if answer is None:
            del held[-1:]  # a slice, because at the first step there is nothing to take back
        else:
            held.append(answer)
    return build_review(report, name, columns_of(questions, steps, held))


@dataclass(frozen=True, slots=True)
class PeerStep:
    """One thing to decide: a key point, a misconception or a follow-up."""

    question: MarkedQuestion
    kind: str
    text: str
    halves: bool = True


def review_steps(question: MarkedQuestion) -> Iterator[PeerStep]:
    """Yield everything that a reviewer decides about an answer, in order."""
    for point in question.points:
        yield PeerStep(question, "points", f"Said? {point.text}")
    for row in question.misconceptions:
        yield PeerStep(question, "misconceptions", f"Wrong, but said? “{row.wrong}”", halves=False)
    for marked, probe in zip(question.follow_ups, question.asked.follow_ups, strict=True):
        if marked.asked:
            answered = probe.typed.strip() or "nothing"
            text = f"Follow-up: {marked.ask}\nAnswered: {answered}\nRight is: {marked.answer}\nSaid?"
            yield PeerStep(question, "probes", text)


def opening(question: MarkedQuestion, questions: Sequence[MarkedQuestion]) -> str:
    """The question and the answer, as they are shown above the decisions."""
    place = next(number for number, other in enumerate(questions, 1) if other is question)
    head = f"--- {place} of {len(questions)} ".ljust(60, "-")
    prompt, typed = question.asked.asked.prompt.strip(), question.asked.typed.strip()
    return f"\n{head}\n\nQUESTION\n{prompt}\n\nANSWER\n{typed}\n\nWHAT A GOOD ANSWER CONTAINS"


def _fit(text: str, width: int, hanging: str = "") -> str:
    """Break lines that are too long between words, and make control characters visible."""
    lines = [escape_unprintable(line) for line in text.splitlines()]
    return "\n".join(
        textwrap.fill(line, width - 1, subsequent_indent=hanging) if len(line) >= width else line
        for line in lines
    )


def _ask_held(prompt: str, halves: bool, ask: Ask, say: Say) -> float | None:
    """Ask until the answer is understood; None to go back one step."""
    choice = "y/h/n" if halves else "y/n"
    while True:
        answer = ask(f"{prompt}  [{choice}] ").strip().casefold()
        if answer in {"b", "back"}:
            return None
        if answer in ANSWERS and (halves or ANSWERS[answer] != 0.5):
            return ANSWERS[answer]
        say(f"  Please answer {'y, h or n' if halves else 'y or n'}; b goes back one step.")


@dataclass(frozen=True, slots=True)
class AnswerMarks:
    """A reviewer's marks for one answer. A follow-up that was not asked counts 0."""

    points: list[float]
    misconceptions: list[bool]
    probes: list[float]


def columns_of(
    questions: Sequence[MarkedQuestion], steps: Sequence[PeerStep], held: Sequence[float]
) -> dict[int, AnswerMarks]:
    """Sort decisions, one for each step, into marks by question number."""
    columns: dict[int, AnswerMarks] = {}
    for question in questions:
        marks = [
            (step.kind, mark) for step, mark in zip(steps, held, strict=True) if step.question is question
        ]
        probes = iter([mark for kind, mark in marks if kind == "probes"])
        columns[question.asked.number] = AnswerMarks(
            [mark for kind, mark in marks if kind == "points"],
            [mark > 0 for kind, mark in marks if kind == "misconceptions"],
            [next(probes) if row.asked else 0.0 for row in question.follow_ups],
        )
    return columns


def build_review(report: Report, by: str, columns: Mapping[int, AnswerMarks]) -> PeerReview:
    """Score a reviewer's marks, given by question number, and measure the agreement on key points."""
    totals, pairs = [], []
    items: dict[str, PeerMarks] = {}
    for question in report.questions:
        number, mark = question.asked.number, question.marks.total
        column = columns.get(number)
        if column is not None:
            mark = _mark(question, column)
            items[str(number)] = PeerMarks(column.points, column.misconceptions, column.probes, mark)
            pairs += [(point.held, held) for point, held in zip(question.points, column.points, strict=True)]
        totals.append((question.asked.planned, mark))
    same = sum(first == second for first, second in pairs)
    percent = round(100 * same / len(pairs)) if pairs else 100
    return PeerReview(
        by,
        datetime.now(UTC).isoformat(timespec="seconds"),
        items,
        score.mean_mark(totals),
        Agreement(len(pairs), percent, kappa(pairs)),
    )


def _mark(question: MarkedQuestion, column: AnswerMarks) -> int:
    replace = msgspec.structs.replace
    marking = question.marking
    assert isinstance(marking, WordsMarking)
    theirs = replace(
        marking,
        # An answer that seems empty to the program is not empty if the reviewer found a point in it.
        empty=marking.empty and not any(column.points),
        points=[replace(point, held=held) for point, held in zip(marking.points, column.points, strict=True)],
        misconceptions=[
            replace(row, stated=stated)
            for row, stated in zip(marking.misconceptions, column.misconceptions, strict=True)
        ],
        follow_ups=[
            replace(row, held=held) for row, held in zip(marking.follow_ups, column.probes, strict=True)
        ],
    )
    return score.mark_of(terms_of(question.asked, theirs))


def columns_text(report: Report, review: PeerReview) -> Iterator[str]:
    """Yield the lines of a table with both markings side by side, and the agreement."""
    by = "".join(c for c in review.by if c.isprintable())[:16]
    yield f"{'':44} {'own':>5} {by:>16}"
    for number, marks in review.items.items():
        question = report.question(int(number))
        yield f"{question.asked.card[:44]:44} {question.marks.total:>5} {marks.mark:>16}"
    yield f"{f'the whole {report.form.noun}':44} {report.totals.raw:>5} {review.total:>16}"
    agreement = review.agreement
    scale = "" if agreement.kappa is None else " (1 is full agreement, 0 is chance)"
    yield (f"Agreement on {agreement.points} key points: {agreement.percent} %{kappa_text(agreement)}{scale}")
    yield "Time and everything that the machine marks count the same in both columns."
