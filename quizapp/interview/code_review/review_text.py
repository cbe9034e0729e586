"""A code review as plain text: the task with numbered lines, and the reveal."""

import difflib
from collections.abc import Iterator

from quizapp.bank.model import Exercise
from quizapp.interview.code_review.model import CodeReview, Decision, ReviewAnswer, ReviewResult
from quizapp.interview.code_review.review_marks import (
    CONSEQUENCE,
    CORRECT_DECISION,
    CORRECT_PROOF,
    DECISION,
    FIX,
    LINE,
    PROOF,
)
from quizapp.interview.code_review.review_steps import STARTING_TEST
from quizapp.util.text import plural

PART_NAMES = ("decision", "line", "consequence", "proof", "fix")
JUDGED_PARTS = PART_NAMES[-2:]
"""The parts that are not known before the judge has run the test and the fix."""


def numbered(source: str) -> Iterator[str]:
    """Yield the lines of a source with their numbers."""
    lines = source.rstrip("\n").split("\n")
    width = len(str(len(lines)))
    for number, line in enumerate(lines, 1):
        yield f"{number:>{width}}  {line}".rstrip()


def task_lines(review: CodeReview) -> Iterator[str]:
    """Yield the task: the code, and what to answer."""
    yield f"{review.title}: is this code correct? ({plural(review.minutes, 'minute')}, seed {review.seed})"
    yield ""
    yield from numbered(review.shown)


def parts(result: ReviewResult) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the marks and the most marks of each part."""
    most = (DECISION, LINE, CONSEQUENCE, PROOF, FIX)
    if result.review.is_correct:
        most = (CORRECT_DECISION, 0, 0, CORRECT_PROOF, 0)
    marks = result.marks
    given = (marks.decision, marks.line, marks.consequence, marks.proof, marks.fix)
    yield from (part for part in zip(PART_NAMES, given, most, strict=True) if part[2])


def verdict_sentence(result: ReviewResult) -> str:
    """What the code was, and what the learner said."""
    review, answer = result.review, result.answer
    truth = (
        "The code is correct" if review.is_correct else f"The code has {plural(len(review.faults), 'fault')}"
    )
    if answer.decision is None:
        return f"{truth}; you did not decide."
    right = (answer.decision == Decision.CORRECT) == review.is_correct
    sure = f"{answer.confidence or 0} % sure"
    return f"{truth}; you said {answer.decision}, {sure}: {'right' if right else 'wrong'}."


def answer_lines(review: CodeReview, answer: ReviewAnswer) -> Iterator[str]:
    """Yield what the learner answered: the decision, the lines, the words, the test and the fix."""
    if answer.decision is None:
        return
    yield f"The code is {answer.decision}, {answer.confidence or 0} % sure."
    if answer.lines:
        yield f"At {fault_place(tuple(answer.lines))}."
    if answer.words.strip():
        yield answer.words.strip()
    if answer.check.strip() and answer.check.strip() != STARTING_TEST.strip():
        yield from ("", answer.check.strip())
    if fixed := [*difference(review.shown, answer.fixed)] if answer.fixed.strip() else []:
        yield from ("", *fixed)


def difference(before: str, after: str) -> Iterator[str]:
    """Yield the lines of a unified difference, without its file names."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    yield from (line for line in lines if not line.startswith(("---", "+++")))


def reveal_lines(result: ReviewResult, exercise: Exercise) -> Iterator[str]:
    """Yield the reveal: the marks, the faults, what became of the test and the fix, and the judge's words."""
    review = result.review
    yield f"{result.marks.total} of 100. {verdict_sentence(result)}"
    yield "  ".join(f"{name} {marks}/{most}" for name, marks, most in parts(result))
    for fault, mark in zip(review.faults, result.consequences, strict=False):
        yield ""
        yield f"{fault.mutant}, {fault_place(fault.lines)}: {fault.why}"
        for number in fault.behaviours:
            if number in exercise.behaviours:
                yield f"  breaks ({number}) {exercise.behaviours[number]}"
        credit = {0.0: "not said", 0.5: "half said", 1.0: "said"}.get(mark.held, str(mark.held))
        yield f"  consequence: {credit}"
    if review.faults:
        yield ""
        yield "From the correct code to the code shown:"
        yield from (f"  {line}" for line in difference(review.original, review.shown))
    yield ""
    yield f"Test: {result.proof.text or 'none.'}"
    if not review.is_correct:
        yield f"Fix: {fix_text(result)}"
    if result.feedback:
        yield ""
        yield "The judge would have said:"
        yield from (f"  {message}" for message in result.feedback)


def fix_text(result: ReviewResult) -> str:
    """What became of the fix, in a sentence."""
    fix = result.fix
    if fix.passed:
        return "every hidden test passes."
    if fix.failing:
        count = len(result.review.faults)
        share = f" {len(fix.repaired)} of {count} faults are repaired." if count > 1 else ""
        return f"behavior {', '.join(map(str, fix.failing))} still fails.{share}"
    return fix.text or "none."


def fault_place(lines: tuple[int, ...]) -> str:
    """The lines of a fault: ``line 3`` or ``lines 3-5``."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    together = lines[-1] - lines[0] == len(lines) - 1
    return f"lines {lines[0]}-{lines[-1]}" if together else f"lines {', '.join(map(str, lines))}"
