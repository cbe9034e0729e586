"""The terms of an incident: by itself, and in an interview.

By itself: 35 reproducibility, 30 diagnosis, 20 fix, 15 explanation. In an interview: 60 hypotheses and
readings, 25 cause and fix, 15 proof and prevention. The machine marks the diagnosis from the stored readings;
the rest is marked by key points, because no code runs there.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from quizapp.incidents.diagnosis import BoughtReading, DiagnosisMark
from quizapp.incidents.model import CONTROL
from quizapp.interview.marking.model import IncidentMarking, PointMark
from quizapp.interview.scoring.arithmetic import (
    CLARITY,
    DEBUGGING,
    Term,
    less_misconceptions,
    less_text,
    share_of,
    stated_wrong,
    weighted_share,
)
from quizapp.interview.scoring.incident_caps import CAPPED_SINCE, diagnosis_caps
from quizapp.interview.session.question import InterviewQuestion

# The weights of an incident's terms: reproducibility 30 + 5, diagnosis 12 + 6 + 6 + 6, fix 20, and
# explanation 10 + 5.
REPLAY, STATE, CAUSE, PLACE, PREDICTIONS, EVIDENCE, FIX, EXPLAIN, COMPLETE = 30, 5, 12, 6, 6, 6, 20, 10, 5
CAP_NO_EVIDENCE, CAP_NO_VERIFICATION = 10, 13
PRICE, SECONDS_PER_MARK = 6, 10
_GRACE_S = 10
_MORE_FREE_S = 20  # for a reading or two that confirm what the cheapest path shows
PREVENTION = "the prevention"
HINT, MOST_HINTS = 10, 2


def incident_terms(item: InterviewQuestion, marking: IncidentMarking) -> list[Term]:
    """Return the terms of an incident, weighed as in an interview by the rules of version 2."""
    if item.rules > 1:
        return _interview_terms(item, marking)
    points, diagnosis = marking.counted_points(), marking.diagnosis
    replay = debugging_term("replay plan", REPLAY, _section(points, "reproduce"), "key points held")
    machine = [state_term(diagnosis), *diagnosis_terms(diagnosis)]
    told = [*_fix(points, diagnosis), *explanation_terms(points, marking)]
    caps = diagnosis_caps(item, [replay, *told], machine)
    return [replay, *machine, *told, *caps, *hint_terms(item)]


def hint_terms(item: InterviewQuestion) -> Iterator[Term]:
    """What the hints that were taken cost."""
    hints = min(item.hints, MOST_HINTS)
    if hints:
        share = Fraction(hints, MOST_HINTS)
        yield Term("hints", DEBUGGING, Fraction(-HINT * MOST_HINTS), share, f"{hints} taken")


def _interview_terms(item: InterviewQuestion, marking: IncidentMarking) -> list[Term]:
    """What an interviewer looks at: hypotheses and readings, then cause and fix, then the proof."""
    points, diagnosis = marking.counted_points(), marking.diagnosis
    fix = Fraction(0) if diagnosis.edit else _section(points, "fix")
    proved = item.controlled or any(point.verify is True and point.held for point in points)
    hypotheses = hypothesis_terms(item, diagnosis)
    fixed = debugging_term(
        "fix", 10, fix, "a change to a healthy run" if diagnosis.edit else "key points held"
    )
    how = "a control run, or a point on verifying"
    guard = debugging_term("guard or control", 10, Fraction(int(proved)), how)
    prevention = prevention_term(marking)
    words, readings = [fixed, prevention], [*hypotheses]
    (readings if item.controlled else words).append(guard)
    caps = diagnosis_caps(item, words, readings)
    return [*hypotheses, fixed, guard, prevention, *caps, *hint_terms(item)]


def hypothesis_terms(item: InterviewQuestion, diagnosis: DiagnosisMark) -> list[Term]:
    """What an interviewer looks at first: order, predictions and choice of the readings, cause and place."""
    excluded, paid = _exclusion(item)
    # Twice the price of the cheapest path is free, and ten seconds on top keep free paths comparable.
    free, until = 2 * diagnosis.cheapest, "s paid until then"
    shown = excluded
    predicted = share_of(diagnosis.predicted, diagnosis.predictions)
    guesses = ""
    if item.incident_rules >= CAPPED_SINCE:
        # Whoever buys every reading excludes every decoy, and "flat" is right for most readings.
        paid, free, until = _paid(item), free + _MORE_FREE_S, "s paid in all"
        predicted, guesses = _share_by_outcome(item.bought), ", each kind of outcome counting alike"
    thrift = min(Fraction(1), Fraction(free + _GRACE_S, paid + _GRACE_S))
    if item.incident_rules >= CAPPED_SINCE:
        shown *= thrift
    evidence = (shown + Fraction(diagnosis.evidence)) / 2
    bought = f"{paid} {until}, {diagnosis.cheapest} s on the cheapest path"
    counted = f"{diagnosis.predicted} of {diagnosis.predictions}{guesses}"
    return [
        debugging_term(
            "order", 20, excluded * thrift, f"{float(excluded):.0%} of the decoys excluded; {bought}"
        ),
        debugging_term("predictions", 20, predicted, counted),
        debugging_term("discrimination", 20, evidence, _evidence_text(diagnosis)),
        debugging_term("cause", 10, Fraction(int(diagnosis.cause)), _right_text(diagnosis.cause)),
        debugging_term("place", 5, Fraction(int(diagnosis.place)), _right_text(diagnosis.place)),
    ]


def _share_by_outcome(bought: Sequence[BoughtReading]) -> Fraction:
    """The mean over the outcomes that occurred of the share of their readings that was predicted right.

    Somebody who always predicts the same is right about one kind of outcome.
    """
    right: dict[str, list[int]] = {}
    for row in [row for row in bought if row.seconds] or bought:
        right.setdefault(row.outcome, []).append(int(row.predicted == row.outcome))
    shares = [Fraction(sum(rows), len(rows)) for rows in right.values()]
    return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)


def prevention_term(marking: IncidentMarking) -> Term:
    """Whether the answer says how to prevent the fault, in an interview."""
    prevented = not marking.empty and any(beat.held for beat in marking.beats if beat.name == PREVENTION)
    return debugging_term("prevention", 5, Fraction(int(prevented)), "said how to prevent it")


def _paid(item: InterviewQuestion) -> int:
    """The seconds paid, but not for a control run of a broken run, which proves rather than searches."""
    proof = "" if item.incident.false_alarm else CONTROL
    return sum(row.seconds for row in item.bought if row.reading != proof)


def _exclusion(item: InterviewQuestion) -> tuple[Fraction, int]:
    """The share of the run's decoys that the readings taken exclude, and the seconds paid until then.

    In a healthy run there is nothing to exclude, so that the control run counts instead.
    """
    asked = item.incident
    rejected_by = {cause.id: cause.rejected_by for cause in asked.causes}
    left = {CONTROL} if asked.false_alarm else set(asked.decoys)
    number, seconds, paid = len(left), 0, 0
    for row in item.bought:
        seconds += row.seconds
        settled = {d for d in left if row.reading == d or row.reading in rejected_by.get(d, ())}
        if settled:
            left -= settled
            paid = seconds
    return share_of(number - len(left), number), paid if len(left) < number else seconds


def debugging_term(name: str, weight: int, share: Fraction, how: str) -> Term:
    """A term of the dimension that incidents belong to."""
    return Term(name, DEBUGGING, Fraction(weight), share, how)


def _section(points: Sequence[PointMark], section: str) -> Fraction:
    return weighted_share(points, section) or Fraction(0)


def state_term(diagnosis: DiagnosisMark) -> Term:
    """The state that a replay must restore, chosen from a list."""
    right, wrong, number = diagnosis.states_right, diagnosis.states_wrong, diagnosis.states
    share = Fraction(max(0, right - wrong), max(1, number))
    return debugging_term("state to save", STATE, share, f"{right} of {number} named, {wrong} wrong")


def diagnosis_terms(diagnosis: DiagnosisMark) -> list[Term]:
    """Cause, place, predictions and evidence, less the price of needless readings."""
    evidence = Fraction(diagnosis.evidence)
    predicted = share_of(diagnosis.predicted, diagnosis.predictions)
    how = f"{diagnosis.predicted} of {diagnosis.predictions}"
    terms = [
        debugging_term("cause", CAUSE, Fraction(int(diagnosis.cause)), _right_text(diagnosis.cause)),
        debugging_term("place", PLACE, Fraction(int(diagnosis.place)), _right_text(diagnosis.place)),
        debugging_term("predictions", PREDICTIONS, predicted, how),
        debugging_term("evidence", EVIDENCE, evidence, _evidence_text(diagnosis)),
    ]
    earned = sum((term.points for term in terms), Fraction(0))
    # Readings may cost up to twice the cheapest path for free. The price never exceeds the marks earned.
    over = max(0, diagnosis.paid - 2 * diagnosis.cheapest)
    price = min(Fraction(over, SECONDS_PER_MARK), Fraction(PRICE), earned)
    if price:
        how = f"{diagnosis.paid} s paid, over twice the cheapest path of {diagnosis.cheapest} s"
        terms.append(debugging_term("price", -PRICE, price / PRICE, how))
    left = earned - price
    if (not evidence or diagnosis.edit) and left > CAP_NO_EVIDENCE:
        how = "a fault named in a healthy run" if diagnosis.edit else "no evidence"
        terms.append(_cap(left, CAP_NO_EVIDENCE, f"{how}: at most {CAP_NO_EVIDENCE} of 30"))
    return terms


def _evidence_text(diagnosis: DiagnosisMark) -> str:
    share = diagnosis.evidence
    if diagnosis.false_alarm:
        return "the control run was taken" if share else "the control run was not taken"
    if not share:
        return "no other cause rejected by a reading that was taken and excludes it"
    whose = "a decoy of the run" if share == 1 else "another cause than the run's decoys"
    return f"{whose}, rejected by a reading that excludes it"


def _right_text(right: bool) -> str:
    return "right" if right else "wrong or not said"


def _cap(earned: Fraction, cap: int, how: str) -> Term:
    return Term("cap", DEBUGGING, cap - earned, Fraction(1), how)


def _fix(points: Sequence[PointMark], diagnosis: DiagnosisMark) -> list[Term]:
    if diagnosis.edit:
        return [debugging_term("fix", FIX, Fraction(0), "a change to a healthy run")]
    share = _section(points, "fix")
    terms = [debugging_term("fix", FIX, share, "key points held")]
    verified = any(point.verify is True and point.held for point in points)
    if not verified and FIX * share > CAP_NO_VERIFICATION:
        how = f"no verification: at most {CAP_NO_VERIFICATION} of {FIX}"
        terms.append(_cap(FIX * share, CAP_NO_VERIFICATION, how))
    return terms


def explanation_terms(points: Sequence[PointMark], marking: IncidentMarking) -> Iterator[Term]:
    """The explanation in words, and the parts of a postmortem."""
    stated = stated_wrong(marking)
    share = less_misconceptions(_section(points, "explain"), stated)
    yield Term("explanation", CLARITY, Fraction(EXPLAIN), share, less_text(stated))
    number = len(marking.beats)
    there = 0 if marking.empty else sum(beat.held for beat in marking.beats)
    yield Term(
        "told whole", CLARITY, Fraction(COMPLETE), share_of(there, number), f"{there} of {number} parts"
    )
