"""Builds the typed report of a finished interview, and redacts one for showing to others."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from quizapp.interview import RoundName, history
from quizapp.interview.code_review.model import JudgedReview
from quizapp.interview.marking.model import MachineMarking, Marking, ReviewMarking, WordsMarking
from quizapp.interview.paper.model import InterviewHead
from quizapp.interview.report.model import (
    ClockLog,
    MarkedQuestion,
    Marks,
    MarkTerm,
    Report,
    ReportCalibration,
    TotalInterval,
    Totals,
)
from quizapp.interview.report.next_steps import next_steps
from quizapp.interview.report.related_tasks import NOTHING_RELATED, RelatedTasks
from quizapp.interview.scoring import calibration, score
from quizapp.interview.scoring.arithmetic import Term
from quizapp.interview.scoring.terms import terms_of
from quizapp.interview.session.question import CodeSubmission, InterviewQuestion
from quizapp.interview.session.session import InterviewSession


def build(
    head: InterviewHead,
    finished: str,
    session: InterviewSession,
    markings: Sequence[Marking],
    past: Sequence[Report],
    related: RelatedTasks = NOTHING_RELATED,
) -> Report:
    """Build the report of a session from its markings.

    ``finished`` is UTC in ISO 8601. ``past`` holds the earlier reports of the same form, newest first.
    ``related`` is what the next steps may name beside the questions asked.
    """
    scored = [
        (asked, terms_of(asked, marking)) for asked, marking in zip(session.items, markings, strict=True)
    ]
    questions = [
        _marked(asked, terms, marking) for (asked, terms), marking in zip(scored, markings, strict=True)
    ]
    reached = [question for question in questions if question.marks.reached]
    raw = _mean_mark(questions)
    dimensions = score.dimensions(scored)
    low, high = score.interval([(question.asked.planned, question.marks.total) for question in questions])
    all_reached = [*reached, *(question for report in past for question in report.reached)]
    inflation = calibration.inflation(all_reached)
    confidence = calibration.calibration(reached)
    earlier = history.comparable(head.role, head.round or RoundName.MIXED, head.id, past)
    started = datetime.fromisoformat(head.started)
    weak_topics = history.weak_topics(questions)
    return Report(
        **msgspec.structs.asdict(head),
        finished=finished,
        clock=ClockLog(session.elapsed_ms, list(session.state.events)),
        phases=list(session.phases),
        questions=questions,
        dimensions=dimensions,
        band=score.band(raw, head.pass_mark, dimensions),
        interval=TotalInterval(low, high, score.DRAWS, score.DRAW_SEED),
        reviews=[],
        remarks=[],
        tomorrow=[],
        totals=Totals(
            raw,
            calibration.adjusted(raw, questions, inflation),
            _mean_mark(reached),
            len(questions),
            len(reached),
        ),
        inflation=inflation,
        calibration=ReportCalibration(
            confidence.items,
            confidence.brier,
            confidence.bias,
            confidence.bins,
            calibration.topic_calibration(all_reached),
        ),
        comparison=history.comparison(raw, earlier),
        pooled=history.pooled(
            started, [(started, raw), *((report.started_at, report.totals.raw) for report in earlier)]
        ),
        weak_topics=weak_topics,
        next_steps=next_steps(head, weak_topics, questions, related),
    )


def _marked(asked: InterviewQuestion, terms: Sequence[Term], marking: Marking) -> MarkedQuestion:
    marks = Marks(score.mark_of(terms), asked.reached, [_decimal(term) for term in terms])
    return MarkedQuestion(asked, marking, marks)


def _decimal(term: Term) -> MarkTerm:
    """Convert a term to decimals for display. The mark itself is computed from exact fractions."""
    share, points = round(float(term.share), 6), round(float(term.points), 4)
    return MarkTerm(term.name, term.dimension, float(term.weight), share, points, term.how)


def _mean_mark(questions: Sequence[MarkedQuestion]) -> int:
    return score.mean_mark([(question.asked.planned, question.marks.total) for question in questions])


def redacted(report: Report) -> Report:
    """Return a copy without the learner's own words, code and numbers and without the reviewers' names."""
    reviews = [
        msgspec.structs.replace(review, by=f"friend {n}") for n, review in enumerate(report.reviews, 1)
    ]
    questions = [_redacted_question(question) for question in report.questions]
    return msgspec.structs.replace(report, questions=questions, reviews=reviews, redacted=True)


def _redacted_question(question: MarkedQuestion) -> MarkedQuestion:
    replace = msgspec.structs.replace
    asked, marking = question.asked, question.marking
    if isinstance(marking, WordsMarking):
        marking = replace(marking, points=[replace(point, words=[], quote="") for point in marking.points])
    elif isinstance(marking, MachineMarking):
        marking = replace(marking, note="")
    if isinstance(marking, ReviewMarking):
        marking = replace(marking, judged=_without_messages(marking.judged))
    asked = replace(
        asked,
        review=asked.review and replace(asked.review, check="", fixed=""),
        judged=_without_messages(asked.judged),
        live=asked.live and asked.live.redacted(),
        typed="",
        given=None,
        code="",
        follow_ups=[replace(row, typed="") for row in asked.follow_ups],
        submissions=[_without_source(submission) for submission in asked.submissions],
        bought=[replace(row, predicted="") for row in asked.bought],
    )
    return replace(question, asked=asked, marking=marking)


def _without_messages(judged: JudgedReview | None) -> JudgedReview | None:
    """Keep what counted. The messages may quote the learner's test or fix."""
    if judged is None:
        return None
    replace = msgspec.structs.replace
    return JudgedReview(replace(judged.proof, text=""), replace(judged.fix, text=""), judged.feedback)


_VERDICT_KEYS = ("schema", "exercise", "device", "status", "passed", "seconds", "seed", "tier", "versions")
_TEST_KEYS = ("name", "behaviour", "passed", "seconds")


def _without_source(submission: CodeSubmission) -> CodeSubmission:
    """Keep only the results of the hidden tests. Messages, output and notes may quote the learner's code."""
    full = submission.verdict
    verdict = {key: full[key] for key in _VERDICT_KEYS if key in full}
    verdict["tests"] = [
        {key: test[key] for key in _TEST_KEYS if key in test} | {"message": ""}
        for test in full.get("tests", ())
    ]
    return CodeSubmission(submission.at_ms, "", verdict)
