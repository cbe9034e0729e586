"""What a running code review says above the code: what is expected now, the steps, and the time left."""

from textual.content import Content

from quizapp.interview.code_review.model import Decision
from quizapp.interview.code_review.review_steps import ReviewStep, ReviewSteps
from quizapp.interview.code_review.running_review import RunningReview
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock

ENDS_SOON_S = 60
"""Seconds before the end from which the clock stands out."""
_TASKS = {
    ReviewStep.DECIDE: (
        "Read the code. Is it correct (c), or does it have one to three faults (x)? Docstrings are left out."
    ),
    ReviewStep.CONFIDENCE: "How sure are you that it is {decision}? A number makes the decision final.",
    ReviewStep.POINT: "Point (space) at the line of each fault. Lines that are not faults cost marks.",
    ReviewStep.SAY: "Say in a sentence per fault what goes wrong for a user of the code.",
    ReviewStep.PROVE: (
        "Write check(m) with plain asserts: hold on every correct solution, fail on the code shown."
    ),
    ReviewStep.FIX: "Fix the code; the hidden tests grade the whole file. {hand_in} hands everything in.",
    ReviewStep.JUDGE: "The judge runs your test and your fix; that takes some seconds.",
}
_PROVE_CORRECT = (
    "You say it is correct. Write check(m) for the behavior that you doubted most: it must hold here and "
    "catch a mutant of the exercise."
)
_REVEAL = "Does your sentence say what goes wrong? The fault's number changes the credit; enter accepts all."


def task_text(at: ReviewSteps, hand_in: str) -> str:
    """What is expected now, in a sentence or two; ``hand_in`` is the key that ends the answering."""
    step, answer = at.step, at.answer
    if step == ReviewStep.PROVE and answer.decision == Decision.CORRECT:
        return _PROVE_CORRECT
    if step == ReviewStep.REVEAL:
        return _REVEAL if at.review.faults else ""
    return _TASKS[step].format(decision=answer.decision, hand_in=hand_in)


def head_line(running: RunningReview, width: int) -> Content:
    """The title, the steps and the time, laid out for a width."""
    left = running.seconds_left
    style = "bold $error" if left < ENDS_SOON_S else "$text-muted"
    right = Content.styled(f"{clock(left)} of {running.review.minutes}:00 left", style)
    if not running.is_timed:
        right = Content.styled(f"{clock(running.answer.seconds)} used", "$text-muted")
    steps = Content("  ").join(step_names(running.at))
    room = width - right.cell_length - steps.cell_length - 4
    title = Content.styled(one_line(running.review.title), "bold $primary")
    title = title.truncate(room, ellipsis=True) if room >= 8 else Content("")
    gap = max(1, width - title.cell_length - steps.cell_length - right.cell_length - 2)
    return title.append("  ").append(steps).append(" " * gap).append(right)


def step_names(at: ReviewSteps) -> list[Content]:
    """The names of the steps that are known so far, the current one reversed."""
    names = [ReviewStep.DECIDE, *(at.steps if at.is_decided else ())]
    current = ReviewStep.DECIDE if at.step == ReviewStep.CONFIDENCE else at.step
    return [
        Content.styled(step.value, "bold reverse" if step == current else "$text-muted") for step in names
    ]
