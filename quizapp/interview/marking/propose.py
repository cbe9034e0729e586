"""Turns a frozen answer into a marking: decides what a machine can and proposes the rest."""

from collections.abc import Sequence

import msgspec

from quizapp.bank.answers import mark_choice, mark_cloze, mark_numeric, mark_order
from quizapp.bank.meaning.sentences import says_something
from quizapp.bank.meaning.text_marking import Card, TextMarking, mark_text
from quizapp.bank.model import KeyPoint
from quizapp.incidents.diagnosis import DiagnosisMark, SnapshotPoint, diagnose
from quizapp.incidents.live.guard import is_repair_attempted
from quizapp.interview.blueprint import Beat
from quizapp.interview.code_review.model import Decision
from quizapp.interview.code_review.review_marks import propose_consequence
from quizapp.interview.marking.estimate import mark_estimate
from quizapp.interview.marking.model import (
    BeatMark,
    CodingMarking,
    EstimateMarking,
    FollowUpMark,
    IncidentMarking,
    MachineMarking,
    MarkedBy,
    Marking,
    MisconceptionMark,
    PointMark,
    ReviewMarking,
    WordsMarking,
)
from quizapp.interview.marking.text_evidence import (
    propose_beats,
    propose_follow_up,
)
from quizapp.interview.session.make_question import bank_question, sampled_values
from quizapp.interview.session.question import (
    CODING,
    ESTIMATE,
    IN_WORDS,
    INCIDENT,
    REVIEW,
    UNREACHED,
    WAITING,
    InterviewQuestion,
)


def propose(item: InterviewQuestion, beats: Sequence[Beat]) -> Marking:
    """Propose the marking of a question. The learner may change it."""
    match item.kind:
        case "recall":
            return _recall(item, beats)
        case "coding":
            return _coding(item)
        case "incident":
            return _incident(item, beats)
        case "estimate":
            return _estimate(item)
        case "review":
            return _review(item)
        case _:
            return _machine(item)


def is_self_marked(item: InterviewQuestion) -> bool:
    """Whether the learner marks the answer, because the question was reached and answered in words."""
    if item.kind == REVIEW and item.review_answer.decision != Decision.FAULTY:
        return False
    words = bool(item.typed.strip() or any(row.typed.strip() for row in item.follow_ups))
    return item.kind in (*IN_WORDS, CODING, ESTIMATE, REVIEW) and item.reached and (words or item.was_spoken)


def mark_words(item: InterviewQuestion) -> TextMarking:
    """What the typed answer to a question shows and states, with the learner's sentences."""
    asked = item.asked
    follow_ups = (row.answer for row in asked.follow_ups)
    card = Card(
        asked.prompt,
        item.key_points,
        tuple(asked.misconceptions),
        tuple(text for text in (asked.answer, asked.say, *follow_ups) if text),
        gives_away=item.kind != CODING,
        of_a_form=item.kind == INCIDENT,
    )
    return mark_text(card, item.typed)


def _points(item: InterviewQuestion) -> list[PointMark]:
    marks = []
    points: Sequence[KeyPoint | SnapshotPoint] = item.asked.key_points
    for point, found in zip(points, mark_words(item).points, strict=True):
        shown = found.proposed
        mark = PointMark(
            text=point.text,
            weight=point.weight,
            kind=point.kind,
            proposed=shown,
            words=[" ".join(found.evidence.split())] if shown else [],
            ticked=shown,
            half=False,
            quote="",
            supported=shown,
            held=float(shown),
        )
        if isinstance(point, SnapshotPoint):
            mark.verify = point.verify
        marks.append(mark)
    return marks


def _misconceptions(item: InterviewQuestion) -> list[MisconceptionMark]:
    findings = mark_words(item).misconceptions
    return [
        MisconceptionMark(row.wrong, row.right, found.proposed, found.proposed)
        for row, found in zip(item.asked.misconceptions, findings, strict=True)
    ]


def _beats(item: InterviewQuestion, beats: Sequence[Beat], typed: str, prompt: str) -> list[BeatMark]:
    shown = propose_beats([beat.name for beat in beats], typed, prompt, item.key_points)
    return [BeatMark(beat.name, beat.check, held, held) for beat, held in zip(beats, shown, strict=True)]


def _says_nothing(item: InterviewQuestion, points: Sequence[PointMark]) -> bool:
    if item.was_spoken or says_something(item.typed, item.asked.prompt, item.key_points):
        return False
    return not any(point.proposed for point in points)


def _recall(item: InterviewQuestion, beats: Sequence[Beat]) -> WordsMarking:
    points = _points(item)
    follow_ups = []
    for row in item.follow_ups:
        share = propose_follow_up(row.answer, row.ask, row.typed)
        asked = row.state not in (UNREACHED, WAITING)
        follow_ups.append(FollowUpMark(row.ask, row.answer, asked, share, share))
    return WordsMarking(
        by=MarkedBy.SELF,
        empty=_says_nothing(item, points),
        points=points,
        misconceptions=_misconceptions(item),
        beats=_beats(item, beats, item.typed, item.asked.prompt),
        follow_ups=follow_ups,
        spoken=item.was_spoken or msgspec.UNSET,
    )


def _machine(item: InterviewQuestion) -> MachineMarking:
    question = bank_question(item)
    if not item.has_given:
        number = {"order": len(question.steps) - 1, "cloze": max(1, question.text.count("[["))}
        parts = number.get(item.kind, 1)
        return MachineMarking(by=MarkedBy.MACHINE, empty=True, right_parts=0, parts=parts, note="No answer.")
    match item.kind:
        case "numeric":
            mark = mark_numeric(question, sampled_values(item), str(item.given))
        case "choice":
            assert isinstance(item.given, int)
            mark = mark_choice(question, item.given)
        case "order":
            mark = mark_order(question, item.sequence)
        case _:
            mark = mark_cloze(question, item.gaps)
    if item.kind in ("numeric", "choice"):
        right, parts = int(mark.right == 1), 1
    else:
        whole = len(question.steps) - 1 if item.kind == "order" else len(mark.parts)
        right, parts = sum(mark.parts), max(1, whole)
    return MachineMarking(by=MarkedBy.MACHINE, empty=False, right_parts=right, parts=parts, note=mark.note)


def _estimate(item: InterviewQuestion) -> EstimateMarking:
    points = _points(item)
    given = str(item.given) if item.has_given else ""
    number, note = mark_estimate(bank_question(item), sampled_values(item), given)
    return EstimateMarking(
        by=MarkedBy.SELF,
        empty=not given and _says_nothing(item, points),
        points=points,
        misconceptions=_misconceptions(item),
        beats=[],
        follow_ups=[],
        number=number,
        note=note,
    )


def _review(item: InterviewQuestion) -> ReviewMarking:
    review, answer = item.reviewed.review, item.review_answer
    points = []
    for fault, point in zip(review.faults, item.key_points, strict=True):
        mark = propose_consequence(fault, answer.words)
        points.append(
            PointMark(
                text=point.text,
                weight=point.weight,
                kind=point.kind,
                proposed=bool(mark.held),
                ticked=bool(mark.held),
                half=mark.held == 0.5,
                quote=mark.sentence,
                supported=bool(mark.held),
                held=mark.held,
            )
        )
    return ReviewMarking(
        by=MarkedBy.MACHINE,
        empty=answer.decision is None,
        points=points,
        misconceptions=[],
        beats=[],
        follow_ups=[],
        judged=item.judged,
    )


def _incident(item: InterviewQuestion, beats: Sequence[Beat]) -> IncidentMarking:
    points = _points(item)
    empty = _says_nothing(item, points)
    # The story of another run has a symptom, a cause and a fix too.
    own_story = "" if empty or not any(point.proposed for point in points) else item.typed
    return IncidentMarking(
        by=MarkedBy.SELF,
        empty=empty,
        points=points,
        misconceptions=_misconceptions(item),
        # An answer has to state the symptom again, so repeating the prompt is not copying here.
        beats=_beats(item, beats, own_story, ""),
        follow_ups=[],
        diagnosis=_diagnosis(item),
    )


def _diagnosis(item: InterviewQuestion) -> DiagnosisMark:
    mark = diagnose(item.incident, item.diagnosis, item.bought)
    if item.live is not None and mark.false_alarm:
        # Live, a run of one's own on another seed is as good a control, and a changed script is an edit.
        mark.evidence = float(item.controlled)
        mark.edit = mark.edit or is_repair_attempted(item.live_task.broken, item.live.script(item.live_task))
    return mark


def _coding(item: InterviewQuestion) -> CodingMarking:
    submissions = item.submissions
    held = submissions[-1].behaviours() if submissions else {}
    behaviours = len(held) or len(item.coding.behaviours) or 1
    if counted := item.staged_run.counted_behaviours if item.stages else frozenset():
        counted |= {0} & held.keys()  # 0: only allowed means are used
        held = {number: passed for number, passed in held.items() if number in counted}
        behaviours = len(counted)
    first_ms = submissions[0].at_ms if submissions else None
    # Only a check before the first submission shows that the learner tested before asking for a verdict.
    checked = first_ms is not None and any(check.at_ms <= first_ms for check in item.checks)
    points = _points(item)
    if not says_something(item.typed, item.asked.prompt, item.key_points):
        for point in points:
            point.proposed = point.ticked = point.supported = False
            point.held = 0.0
    return CodingMarking(
        by=MarkedBy.MACHINE,
        empty=not submissions and not item.typed.strip(),
        points=points,
        misconceptions=[],
        beats=[],
        follow_ups=[],
        behaviours=behaviours,
        behaviours_passed=sum(held.values()),
        status=submissions[-1].status if submissions else "no submission",
        checked=checked,
        failed_submissions=sum(not submission.passed for submission in submissions),
    )
