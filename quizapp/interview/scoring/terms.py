"""The terms of a mark: exact shares of weights, from which all figures of a report follow.

The weights by kind of question are:

- words: 50 core, 20 depth, 15 production, 15 clarity and time
- machine-marked: 90 right, 10 time
- code: 60 hidden behaviors, 20 invariants explained, 10 time, 10 verification
- incident: 35 reproducibility, 30 diagnosis, 20 fix, 15 explanation

In an incident the machine marks the diagnosis and the state to save from the stored readings. The rest is
marked by key points, because no code runs there. Caps and prices are terms with a negative weight.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from quizapp.incidents.diagnosis import DiagnosisMark
from quizapp.interview.marking.model import (
    CodingMarking,
    IncidentMarking,
    MachineMarking,
    Marking,
    PointMark,
    WordsMarking,
)
from quizapp.interview.session.question import InterviewQuestion
from quizapp.util.text import plural

DIMENSIONS = ("correctness", "depth", "code", "debugging", "clarity and time")
CORRECTNESS, DEPTH, CODE, DEBUGGING, CLARITY = DIMENSIONS

# The weights of an incident's terms: reproducibility 30 + 5, diagnosis 12 + 6 + 6 + 6, fix 20, and
# explanation 10 + 5.
REPLAY, STATE, CAUSE, PLACE, PREDICTIONS, EVIDENCE, FIX, EXPLAIN, COMPLETE = 30, 5, 12, 6, 6, 6, 20, 10, 5
CAP_NO_EVIDENCE, CAP_NO_VERIFICATION = 10, 13
PRICE, SECONDS_PER_MARK = 6, 10
HINT, MOST_HINTS = 10, 2


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a mark: the ``share`` of ``weight`` that was earned. ``how`` explains the share.

    A negative weight takes marks away and does not change how much could be earned.
    """

    name: str
    dimension: str
    weight: Fraction
    share: Fraction
    how: str

    @property
    def points(self) -> Fraction:
        """What it adds to the mark."""
        return self.weight * self.share


def half_up(value: Fraction) -> int:
    """Round to the nearest integer, halves up, unlike ``round``, which rounds halves to even."""
    return int((value + Fraction(1, 2)).__floor__())


def time_share(used_ms: int, budget_s: int, *, sure: bool) -> Fraction:
    """The share for time: 1 up to the budget, then falling linearly to 0 at 150 % of it.

    An answer in less than 30 % of the budget gets 1 if it is ``sure`` to be right, else 0: a quick wrong
    answer must not earn marks for speed.
    """
    budget = 1000 * budget_s
    if budget <= 0:
        return Fraction(0)
    if 10 * used_ms < 3 * budget:
        return Fraction(int(sure))
    if used_ms <= budget:
        return Fraction(1)
    return max(Fraction(0), 1 - Fraction(2 * (used_ms - budget), budget))


def weighted_share(points: Sequence[PointMark], kind: str = "") -> Fraction | None:
    """The weighted mean of ``held`` over the points of one kind, or of all; None without such points."""
    rows = [(point.weight, Fraction(point.held)) for point in points if not kind or point.kind == kind]
    total = sum(weight for weight, _ in rows)
    return sum((weight * held for weight, held in rows), Fraction(0)) / total if total else None


def own_check_text(*, ran: bool) -> str:
    """Say whether the learner ran a check before the first submission, as the mark requires."""
    return f"{'a' if ran else 'no'} check of your own before the first submission"


def terms_of(item: InterviewQuestion, marking: Marking) -> list[Term]:
    """Return the terms of any question, all zero if it was not reached."""
    match marking:
        case CodingMarking():
            terms = coding_terms(item, marking)
        case IncidentMarking():
            terms = incident_terms(item, marking)
        case WordsMarking():
            terms = recall_terms(item, marking)
        case MachineMarking():
            terms = machine_terms(item, marking)
        case _:
            raise TypeError(f"{type(marking).__name__} has no terms")
    if not item.reached:
        return [Term(t.name, t.dimension, t.weight, Fraction(0), "not reached") for t in terms]
    return terms


def _time_term(item: InterviewQuestion, weight: Fraction, right: Fraction, *, empty: bool) -> Term:
    share = time_share(item.used_ms, item.budget, sure=right >= Fraction(8, 10))
    how = f"{item.used_ms / 1000:.1f} s of {item.budget} s"
    return Term("time", CLARITY, weight, Fraction(0) if empty else share, how)


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)


def _less_misconceptions(share: Fraction | None, stated: int) -> Fraction:
    return max(Fraction(0), (share or Fraction(0)) - Fraction(stated, 10))


def _stated(marking: WordsMarking) -> int:
    return sum(row.stated for row in marking.misconceptions)


def _less_text(stated: int) -> str:
    return f"key points held, less 0.1 for each of {stated} wrong"


def recall_terms(item: InterviewQuestion, marking: WordsMarking) -> list[Term]:
    """Return the terms of an answer in words.

    Without points for depth or production, their weight goes to the core.
    """
    points, empty = marking.counted_points(), marking.empty
    stated = _stated(marking)
    core = _less_misconceptions(weighted_share(points, "core"), stated)
    trade_offs = weighted_share(points, "trade-off")
    production = weighted_share(points, "production")
    depth = [] if trade_offs is None else [trade_offs]
    if asked := [Fraction(0 if empty else row.held) for row in marking.follow_ups if row.asked]:
        depth.append(sum(asked, Fraction(0)) / len(asked))
    main, deep = (DEBUGGING, DEBUGGING) if item.scenario else (CORRECTNESS, DEPTH)
    core_weight = Fraction(50 + (0 if depth else 20) + (0 if production is not None else 15))
    terms = [Term("core", main, core_weight, core, _less_text(stated))]
    if depth:
        mean = sum(depth, Fraction(0)) / len(depth)
        terms.append(Term("trade-offs", deep, Fraction(20), mean, "mean of trade-off points and follow-ups"))
    if production is not None:
        terms.append(Term("production", deep, Fraction(15), production, "production points held"))
    beats = sum(beat.held for beat in marking.beats)
    built = Fraction(0) if empty else _share(beats, len(marking.beats))
    half = Fraction(15, 2)
    terms.append(Term("beats", CLARITY, half, built, f"{beats} of {len(marking.beats)} beats"))
    return [*terms, _time_term(item, half, core, empty=empty)]


def machine_terms(item: InterviewQuestion, marking: MachineMarking) -> list[Term]:
    """Return the terms of a numeric, choice, order or cloze answer."""
    right = Fraction(0) if marking.empty else _share(marking.right_parts, max(1, marking.parts))
    main = DEBUGGING if item.scenario else CORRECTNESS
    how = f"{marking.right_parts} of {marking.parts} parts"
    return [
        Term("right", main, Fraction(90), right, how),
        _time_term(item, Fraction(10), right, empty=marking.empty),
    ]


def coding_terms(item: InterviewQuestion, marking: CodingMarking) -> list[Term]:
    """Return the terms of a coding question, from the last verdict before time was up."""
    passed = _share(marking.behaviours_passed, marking.behaviours)
    explained = weighted_share(marking.points)
    # The first failed submission is free; each further one costs a quarter of the verification.
    failures = max(0, marking.failed_submissions - 1)
    verified = max(Fraction(0), int(marking.checked) - Fraction(failures, 4))
    if marking.empty:
        verified = Fraction(0)
    hidden = Fraction(60 if explained is not None else 80)
    how = f"{marking.behaviours_passed} of {marking.behaviours} behaviours"
    terms = [Term("hidden behaviours", CODE, hidden, passed, how)]
    if explained is not None:
        terms.append(Term("invariants", CODE, Fraction(20), explained, "invariants explained"))
    terms.append(_time_term(item, Fraction(10), passed, empty=marking.empty))
    how = f"{own_check_text(ran=marking.checked)}, {plural(failures, 'failed submission')} after the first"
    return [*terms, Term("verification", CODE, Fraction(10), verified, how)]


def incident_terms(item: InterviewQuestion, marking: IncidentMarking) -> list[Term]:
    """Return the terms of an incident."""
    points, diagnosis = marking.counted_points(), marking.diagnosis
    terms = [*_reproducibility(points, diagnosis), *_diagnosis(diagnosis), *_fix(points, diagnosis)]
    terms += _explanation(points, marking)
    hints = min(item.hints, MOST_HINTS)
    if hints:
        share = Fraction(hints, MOST_HINTS)
        terms.append(Term("hints", DEBUGGING, Fraction(-HINT * MOST_HINTS), share, f"{hints} taken"))
    return terms


def _debugging(name: str, weight: int, share: Fraction, how: str) -> Term:
    return Term(name, DEBUGGING, Fraction(weight), share, how)


def _section(points: Sequence[PointMark], section: str) -> Fraction:
    return weighted_share(points, section) or Fraction(0)


def _reproducibility(points: Sequence[PointMark], diagnosis: DiagnosisMark) -> Iterator[Term]:
    yield _debugging("replay plan", REPLAY, _section(points, "reproduce"), "key points held")
    right, wrong, number = diagnosis.states_right, diagnosis.states_wrong, diagnosis.states
    share = Fraction(max(0, right - wrong), max(1, number))
    yield _debugging("state to save", STATE, share, f"{right} of {number} named, {wrong} wrong")


def _diagnosis(diagnosis: DiagnosisMark) -> list[Term]:
    evidence = Fraction(diagnosis.evidence)
    predicted = _share(diagnosis.predicted, diagnosis.predictions)
    how = f"{diagnosis.predicted} of {diagnosis.predictions}"
    terms = [
        _debugging("cause", CAUSE, Fraction(int(diagnosis.cause)), _right_text(diagnosis.cause)),
        _debugging("place", PLACE, Fraction(int(diagnosis.place)), _right_text(diagnosis.place)),
        _debugging("predictions", PREDICTIONS, predicted, how),
        _debugging("evidence", EVIDENCE, evidence, _evidence_text(diagnosis)),
    ]
    earned = sum((term.points for term in terms), Fraction(0))
    # Readings may cost up to twice the cheapest path for free. The price never exceeds the marks earned.
    over = max(0, diagnosis.paid - 2 * diagnosis.cheapest)
    price = min(Fraction(over, SECONDS_PER_MARK), Fraction(PRICE), earned)
    if price:
        how = f"{diagnosis.paid} s paid, over twice the cheapest path of {diagnosis.cheapest} s"
        terms.append(_debugging("price", -PRICE, price / PRICE, how))
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
        return [_debugging("fix", FIX, Fraction(0), "a change to a healthy run")]
    share = _section(points, "fix")
    terms = [_debugging("fix", FIX, share, "key points held")]
    verified = any(point.verify is True and point.held for point in points)
    if not verified and FIX * share > CAP_NO_VERIFICATION:
        how = f"no verification: at most {CAP_NO_VERIFICATION} of {FIX}"
        terms.append(_cap(FIX * share, CAP_NO_VERIFICATION, how))
    return terms


def _explanation(points: Sequence[PointMark], marking: IncidentMarking) -> Iterator[Term]:
    stated = _stated(marking)
    share = _less_misconceptions(_section(points, "explain"), stated)
    yield Term("explanation", CLARITY, Fraction(EXPLAIN), share, _less_text(stated))
    number = len(marking.beats)
    there = 0 if marking.empty else sum(beat.held for beat in marking.beats)
    yield Term("told whole", CLARITY, Fraction(COMPLETE), _share(there, number), f"{there} of {number} parts")
