"""The terms of a code review in an interview: the parts of its mark, rounded as by itself.

Decision and line are debugging, the consequence is depth, proof and fix are code.
"""

from collections.abc import Mapping
from fractions import Fraction

from quizapp.interview.code_review.model import ConsequenceMark, JudgedReview, ReviewResult
from quizapp.interview.code_review.review_text import fix_text, parts, verdict_sentence
from quizapp.interview.code_review.service import remark
from quizapp.interview.marking.model import ReviewMarking
from quizapp.interview.scoring.arithmetic import CODE, DEBUGGING, DEPTH, Term
from quizapp.interview.session.question import InterviewQuestion

_DIMENSIONS: Mapping[str, str] = {
    "decision": DEBUGGING,
    "line": DEBUGGING,
    "consequence": DEPTH,
    "proof": CODE,
    "fix": CODE,
}


def review_result(item: InterviewQuestion, marking: ReviewMarking) -> ReviewResult:
    """The code review of a question as it stands, marked."""
    review, judged = item.reviewed.review, marking.judged or JudgedReview()
    rows = zip(review.faults, marking.counted_points(), strict=True)
    return remark(
        ReviewResult(
            review=review,
            answer=item.review_answer,
            consequences=[ConsequenceMark(fault.mutant, point.held, point.quote) for fault, point in rows],
            proof=judged.proof,
            fix=judged.fix,
            feedback=judged.feedback,
        )
    )


def review_terms(item: InterviewQuestion, marking: ReviewMarking) -> list[Term]:
    """Return the terms of a code review. Nothing is proved or fixed before the judge has run."""
    result = review_result(item, marking)
    faults = len(result.review.faults)
    explained = {
        "decision": verdict_sentence(result),
        "line": f"{faults} to point at, {len(result.answer.lines)} pointed at",
        "consequence": "what the faults do, as far as it was said",
        "proof": result.proof.text or "no test",
        "fix": fix_text(result),
    }
    return [
        Term(name, _DIMENSIONS[name], Fraction(most), Fraction(marks, most), explained[name])
        for name, marks, most in parts(result)
    ]
