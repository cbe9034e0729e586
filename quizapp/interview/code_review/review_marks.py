"""The marks of a code review: decision 25, line 20, consequence 15, proof 20, fix 20.

Code that is correct has two parts: decision 60, and 40 for a test that catches a mutant of the exercise.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from quizapp.bank.meaning.sentences import affirmed, content_stems, own_sentences
from quizapp.bank.meaning.text_marking import Card, mark_text
from quizapp.bank.model import KeyPoint
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

DECISION, LINE, CONSEQUENCE, PROOF, FIX = 25, 20, 15, 20, 20
CORRECT_DECISION, CORRECT_PROOF = 60, 40
_HALF_SHARE, _HALF_STEMS = 0.17, 2  # of the stems of a consequence that a sentence has to affirm for half


def probability_of_truth(decision: Decision, confidence: int, *, is_correct: bool) -> Fraction:
    """The probability that a learner gives to what is true: 1/2 at no confidence, 0 or 1 at 100 %."""
    sure = Fraction(1, 2) + Fraction(min(max(confidence, 0), 100), 200)
    return sure if (decision == Decision.CORRECT) == is_correct else 1 - sure


def decision_marks(most: int, probability: Fraction) -> int:
    """``round(max(0, most (1 - 4 (1 - p)^2)))``, rounded half up, for the probability given to the truth."""
    return _rounded(max(Fraction(0), most * (1 - 4 * (1 - probability) ** 2)))


def mark_review(
    review: CodeReview,
    answer: ReviewAnswer,
    consequences: Sequence[ConsequenceMark],
    proof: ProofOutcome,
    fix: FixOutcome,
) -> ReviewMarks:
    """Mark an answer. Parts that were not answered count 0; so does everything without a decision."""
    if answer.decision is None:
        return ReviewMarks()
    truth = probability_of_truth(answer.decision, answer.confidence or 0, is_correct=review.is_correct)
    if review.is_correct:
        proved = CORRECT_PROOF if proof.accepted and proof.caught else 0
        return ReviewMarks(decision=decision_marks(CORRECT_DECISION, truth), proof=proved)
    if answer.decision == Decision.CORRECT:
        return ReviewMarks()
    count = len(review.faults)
    held: Mapping[str, float] = {mark.mutant: mark.held for mark in consequences}
    said = sum((Fraction(held.get(fault.mutant, 0.0)) for fault in review.faults), Fraction(0))
    caught = sum(fault.mutant in proof.caught for fault in review.faults) if proof.accepted else 0
    repaired = count if fix.passed else sum(fault.mutant in fix.repaired for fault in review.faults)
    return ReviewMarks(
        decision=decision_marks(DECISION, truth),
        line=_rounded(LINE * line_share(review, answer)),
        consequence=_rounded(CONSEQUENCE * said / count),
        proof=_rounded(Fraction(PROOF * caught, count)),
        fix=_rounded(Fraction(FIX * repaired, count)),
    )


def line_share(review: CodeReview, answer: ReviewAnswer) -> Fraction:
    """The share of the faults that the learner points at.

    Pointing at more lines than there are faults lowers it, so that pointing everywhere is no way to find one.
    """
    lines = set(answer.lines)
    hits = sum(bool(lines & set(fault.lines)) for fault in review.faults)
    return Fraction(hits, max(len(review.faults), len(lines)))


def propose_consequence(fault: ReviewFault, text: str) -> ConsequenceMark:
    """Propose how far the learner's words say what ``fault`` does, from its ``why``.

    The whole consequence is recognized by its meaning, as a key point is. A sentence that affirms at least
    two of its words is half of it.
    """
    found = mark_text(Card("", (KeyPoint(fault.why),)), text).points[0]
    if found.proposed:
        return ConsequenceMark(fault.mutant, 1.0, found.evidence)
    wanted = content_stems(affirmed(fault.why))
    least = max(min(_HALF_STEMS, len(wanted)), _HALF_SHARE * len(wanted))
    for sentence in own_sentences(text, "", ()):
        if len(wanted & content_stems(affirmed(sentence))) >= max(least, 1):
            return ConsequenceMark(fault.mutant, 0.5, sentence)
    return ConsequenceMark(fault.mutant)


def decide_consequence(proposed: ConsequenceMark, held: float) -> ConsequenceMark:
    """The learner's decision on a consequence. Without a sentence that shows it, at most half is credited."""
    most = 1.0 if proposed.sentence else 0.5
    return ConsequenceMark(
        proposed.mutant, min(held, most), proposed.sentence, by_learner=held != proposed.held
    )


def _rounded(value: Fraction | int) -> int:
    """Round half up, as every mark of the program is rounded."""
    return int(Fraction(value) + Fraction(1, 2))
