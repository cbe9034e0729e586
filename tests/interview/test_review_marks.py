"""The marks of a code review, by the formulas of docs/code-review.md."""

from fractions import Fraction

import pytest

from quizapp.interview.code_review.model import (
    CodeReview,
    ConsequenceMark,
    Decision,
    FixOutcome,
    ProofOutcome,
    ReviewAnswer,
    ReviewFault,
    ReviewMarks,
)
from quizapp.interview.code_review.review_marks import (
    decide_consequence,
    decision_marks,
    mark_review,
    probability_of_truth,
    propose_consequence,
)

WHY = "Dropout stays active in eval mode, so the same input gives another output at each call."


def review(faults: int) -> CodeReview:
    planted = tuple(
        ReviewFault(f"m{number}", (number,), WHY, (number * 10, number * 10 + 1), "x = 1")
        for number in range(1, faults + 1)
    )
    return CodeReview(
        exercise="lora",
        title="LoRA",
        module="lora.py",
        seed=1,
        program="solution",
        original="x = 0",
        shown="x = 1",
        faults=planted,
        minutes=4,
    )


def marked(
    faults: int,
    decision: Decision | None,
    confidence: int = 100,
    lines: tuple[int, ...] = (),
    held: tuple[float, ...] = (),
    caught: tuple[str, ...] = (),
    fix: FixOutcome | None = None,
) -> ReviewMarks:
    answer = ReviewAnswer(decision=decision, confidence=confidence, lines=list(lines))
    consequences = [ConsequenceMark(f"m{number}", share) for number, share in enumerate(held, 1)]
    proof = ProofOutcome(accepted=bool(caught), caught=list(caught))
    return mark_review(review(faults), answer, consequences, proof, fix or FixOutcome())


ALL_RIGHT = {"lines": (10,), "held": (1.0,), "caught": ("m1",), "fix": FixOutcome(passed=True)}


@pytest.mark.parametrize(
    ("confidence", "faulty", "correct"), [(0, 0, 0), (25, 11, 26), (50, 19, 45), (75, 23, 56), (100, 25, 60)]
)
def test_the_decision_is_marked_by_its_confidence(confidence: int, faulty: int, correct: int) -> None:
    assert marked(1, Decision.FAULTY, confidence).decision == faulty
    assert marked(0, Decision.CORRECT, confidence).decision == correct


@pytest.mark.parametrize("confidence", [0, 25, 50, 75, 100])
def test_a_wrong_decision_has_no_marks(confidence: int) -> None:
    assert marked(1, Decision.CORRECT, confidence, **ALL_RIGHT).total == 0  # type: ignore[arg-type]
    assert marked(0, Decision.FAULTY, confidence).total == 0


def test_the_formula_is_that_of_the_documentation() -> None:
    for confidence in range(101):
        p = probability_of_truth(Decision.FAULTY, confidence, is_correct=False)
        assert p == Fraction(1, 2) + Fraction(confidence, 200)
        assert decision_marks(25, p) == int(max(0, 25 * (1 - 4 * (1 - float(p)) ** 2)) + 0.5)
        assert decision_marks(25, 1 - p) == 0


def test_everything_right_is_a_hundred() -> None:
    marks = marked(1, Decision.FAULTY, **ALL_RIGHT)  # type: ignore[arg-type]
    assert marks == ReviewMarks(decision=25, line=20, consequence=15, proof=20, fix=20)
    assert marks.total == 100
    assert marked(0, Decision.CORRECT, caught=("any_mutant",)).total == 100


def test_correct_code_called_faulty_keeps_the_marks_of_a_killing_test() -> None:
    assert marked(0, Decision.FAULTY, caught=("any_mutant",)).total == 40
    assert marked(0, Decision.CORRECT).total == 60


def test_without_a_decision_nothing_counts() -> None:
    assert marked(1, None, **ALL_RIGHT).total == 0  # type: ignore[arg-type]


def test_several_faults_share_the_marks() -> None:
    marks = marked(
        3,
        Decision.FAULTY,
        lines=(11, 20),
        held=(1.0, 0.5, 0.0),
        caught=("m1", "m3"),
        fix=FixOutcome(repaired=["m2"]),
    )
    assert marks == ReviewMarks(decision=25, line=13, consequence=8, proof=13, fix=7)


@pytest.mark.parametrize(
    ("lines", "marks"),
    [((10,), 20), ((11,), 20), ((12,), 0), ((10, 11), 10), ((10, 40, 50), 7), (tuple(range(1, 21)), 1)],
)
def test_pointing_at_many_lines_is_worth_less(lines: tuple[int, ...], marks: int) -> None:
    assert marked(1, Decision.FAULTY, lines=lines).line == marks


def test_a_refused_test_earns_nothing() -> None:
    answer = ReviewAnswer(decision=Decision.FAULTY, confidence=100)
    refused = ProofOutcome(accepted=False, caught=["m1"])
    assert mark_review(review(1), answer, [], refused, FixOutcome()).proof == 0


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Dropout is still active in eval mode, so two calls with the same input differ.", 1.0),
        ("In eval the output is random.", 0.5),
        ("The gradient of the bias is wrong.", 0.0),
        ("", 0.0),
        ("Dropout is not active in eval mode.", 0.0),
        ("It breaks things.", 0.0),
    ],
)
def test_words_are_compared_with_the_consequence(text: str, held: float) -> None:
    fault = review(1).faults[0]
    assert propose_consequence(fault, text).held == held


def test_a_consequence_that_denies_can_be_said() -> None:
    fault = ReviewFault("m1", (1,), "The base layer gets no gradient, so it never learns.", (1,), "")
    assert propose_consequence(fault, "The base layer gets no gradient and never learns anything.").held == 1


def test_the_learner_may_lower_a_proposal_and_raise_one_to_a_half() -> None:
    fault = review(1).faults[0]
    nothing = propose_consequence(fault, "The bias is wrong.")
    assert decide_consequence(nothing, 1.0) == ConsequenceMark("m1", 0.5, "", by_learner=True)
    shown = propose_consequence(fault, "Dropout is still active in eval mode for the same input.")
    assert decide_consequence(shown, 0.0).held == 0.0
    assert decide_consequence(shown, 1.0).held == 1.0
