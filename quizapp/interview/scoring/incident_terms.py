"""The terms of an incident: reproducibility 35, diagnosis 30, fix 20, explanation 15.

The diagnosis and the state to save are marked by the machine from the stored readings; replay plan, fix and
explanation by key points, since no code runs in an interview's scenario. Caps and prices are terms of their
own with a negative weight.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from quizapp.interview.scoring.terms import DIMENSIONS, Term, weighted
from quizapp.interview.session.question import InterviewQuestion

MAIN, TOLD = "debugging", DIMENSIONS[4]
REPLAY, STATE, CAUSE, PLACE, PREDICTIONS, EVIDENCE, FIX, EXPLAIN, TOLD_WHOLE = 30, 5, 12, 6, 6, 6, 20, 10, 5
CAP_NO_EVIDENCE, CAP_NO_VERIFICATION = 10, 13
PRICE, SECONDS_PER_MARK = 6, 10
HINT, MOST_HINTS = 10, 2


def incident_terms(item: InterviewQuestion, marking: Mapping[str, Any]) -> list[Term]:
    """The terms of an incident from its marking."""
    found = marking["diagnosis"]
    points = [dict(point, held=0.0) for point in marking["points"]] if marking["empty"] else marking["points"]
    terms = [*_reproducibility(points, found), *_diagnosis(found), *_fix(points, found)]
    terms += _explanation(points, marking)
    hints = min(item.hints, MOST_HINTS)
    if hints:
        share = Fraction(hints, MOST_HINTS)
        terms.append(Term("hints", MAIN, Fraction(-HINT * MOST_HINTS), share, f"{hints} taken"))
    return terms


def _held(points: list[dict[str, Any]], section: str) -> Fraction:
    return weighted(points, section) or Fraction(0)


def _reproducibility(points: list[dict[str, Any]], found: Mapping[str, Any]) -> Iterator[Term]:
    yield Term("replay plan", MAIN, Fraction(REPLAY), _held(points, "reproduce"), "key points held")
    right, wrong, number = (found[key] for key in ("states_right", "states_wrong", "states"))
    share = Fraction(max(0, right - wrong), max(1, number))
    how = f"{right} of {number} named, {wrong} wrong"
    yield Term("state to save", MAIN, Fraction(STATE), share, how)


def _diagnosis(found: Mapping[str, Any]) -> list[Term]:
    number = found["predictions"]
    predicted = Fraction(found["predicted"], number) if number else Fraction(0)
    evidence = Fraction(found["evidence"])
    terms = [
        Term("cause", MAIN, Fraction(CAUSE), Fraction(int(found["cause"])), _right(found["cause"])),
        Term("place", MAIN, Fraction(PLACE), Fraction(int(found["place"])), _right(found["place"])),
        Term("predictions", MAIN, Fraction(PREDICTIONS), predicted, f"{found['predicted']} of {number}"),
        Term("evidence", MAIN, Fraction(EVIDENCE), evidence, _evidence_text(found)),
    ]
    earned = sum((term.points for term in terms), Fraction(0))
    over = max(0, found["paid"] - 2 * found["cheapest"])
    price = min(Fraction(over, SECONDS_PER_MARK), Fraction(PRICE), earned)
    if price:
        how = f"{found['paid']} s paid, over twice the cheapest path of {found['cheapest']} s"
        terms.append(Term("price", MAIN, Fraction(-PRICE), price / PRICE, how))
    left = earned - price
    if (not evidence or found["edit"]) and left > CAP_NO_EVIDENCE:
        how = "a fault named in a healthy run" if found["edit"] else "no evidence"
        terms.append(_cap(left, CAP_NO_EVIDENCE, f"{how}: at most {CAP_NO_EVIDENCE} of 30"))
    return terms


def _evidence_text(found: Mapping[str, Any]) -> str:
    share = found["evidence"]
    if found["false_alarm"]:
        return "the control run was taken" if share else "the control run was not taken"
    if not share:
        return "no other cause rejected by a reading that was taken and excludes it"
    whose = "a decoy of the run" if share == 1 else "another cause than the run's decoys"
    return f"{whose}, rejected by a reading that excludes it"


def _right(held: bool) -> str:
    return "right" if held else "wrong or not said"


def _cap(earned: Fraction, cap: int, how: str) -> Term:
    return Term("cap", MAIN, cap - earned, Fraction(1), how)


def _fix(points: list[dict[str, Any]], found: Mapping[str, Any]) -> list[Term]:
    share = _held(points, "fix")
    if found["edit"]:
        return [Term("fix", MAIN, Fraction(FIX), Fraction(0), "a change to a healthy run")]
    terms = [Term("fix", MAIN, Fraction(FIX), share, "key points held")]
    verified = any(point.get("verify") and point["held"] for point in points)
    if not verified and FIX * share > CAP_NO_VERIFICATION:
        how = f"no verification: at most {CAP_NO_VERIFICATION} of {FIX}"
        terms.append(_cap(FIX * share, CAP_NO_VERIFICATION, how))
    return terms


def _explanation(points: list[dict[str, Any]], marking: Mapping[str, Any]) -> Iterator[Term]:
    stated = sum(bool(row["stated"]) for row in marking["misconceptions"])
    share = max(Fraction(0), _held(points, "explain") - Fraction(stated, 10))
    how = f"key points held, less 0.1 for each of {stated} wrong"
    yield Term("explanation", TOLD, Fraction(EXPLAIN), share, how)
    beats = [bool(beat["held"]) and not marking["empty"] for beat in marking["beats"]]
    told = Fraction(sum(beats), len(beats)) if beats else Fraction(0)
    yield Term("told whole", TOLD, Fraction(TOLD_WHOLE), told, f"{sum(beats)} of {len(beats)} parts")
