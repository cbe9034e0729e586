"""The score: one formula, whole numbers, every term kept, so that anyone can recompute it.

All arithmetic is exact (fractions); a mark is rounded half up once, at the item.
"""

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from quizapp.interview.report.model import Band, BandResult, DimensionMark
from quizapp.interview.scoring.incident_terms import incident_terms
from quizapp.interview.scoring.terms import DIMENSIONS, Term, half_up, own_check, time_share, weighted
from quizapp.interview.session.question import INCIDENT, InterviewQuestion
from quizapp.util.text import plural

LEVEL_LIMITS = (40, 60, 80)
STRONG_ABOVE = 15
DRAWS, DRAW_SEED = 10_000, 20_260_101
INTERVAL = (10, 90)


def recall_terms(item: InterviewQuestion, marking: Mapping[str, Any]) -> list[Term]:
    """The terms of a recall answer from its marking."""
    points = marking["points"]
    stated = sum(bool(m["stated"]) for m in marking["misconceptions"])
    probes = [Fraction(p["held"]) for p in marking["probes"] if p["asked"]]
    empty = bool(marking["empty"])
    core = weighted(points, "core")
    core = max(Fraction(0), (core if core is not None else Fraction(0)) - Fraction(stated, 10))
    trade = weighted(points, "trade-off")
    production = weighted(points, "production")
    depth = ([trade] if trade is not None else []) + (
        [sum(probes, Fraction(0)) / len(probes)] if probes else []
    )
    main = "debugging" if item.scenario else "correctness"
    deep = "debugging" if item.scenario else "depth"
    core_weight = 50 + (0 if depth else 20) + (0 if production is not None else 15)
    beats = [bool(beat["held"]) for beat in marking["beats"]]
    said = Fraction(sum(beats), len(beats)) if beats else Fraction(0)
    time = time_share(item.used_ms, item.budget, sure=core >= Fraction(8, 10))
    if empty:
        core = said = time = Fraction(0)
        depth = [Fraction(0)] if depth else []
        production = None if production is None else Fraction(0)
    terms = [
        Term(
            "core", main, Fraction(core_weight), core, f"key points held, less 0.1 for each of {stated} wrong"
        )
    ]
    if depth:
        mean = sum(depth, Fraction(0)) / len(depth)
        terms.append(Term("trade-offs", deep, Fraction(20), mean, "mean of trade-off points and follow-ups"))
    if production is not None:
        terms.append(Term("production", deep, Fraction(15), production, "production points held"))
    half = Fraction(15, 2)
    terms.append(Term("beats", DIMENSIONS[4], half, said, f"{sum(beats)} of {len(beats)} beats"))
    terms.append(Term("time", DIMENSIONS[4], half, time, _time_text(item)))
    return terms


def machine_terms(item: InterviewQuestion, marking: Mapping[str, Any]) -> list[Term]:
    """The terms of a numeric, choice, order or cloze answer."""
    right = Fraction(int(marking["right_parts"]), max(1, int(marking["parts"])))
    time = time_share(item.used_ms, item.budget, sure=right >= Fraction(8, 10))
    if marking["empty"]:
        right = time = Fraction(0)
    main = "debugging" if item.scenario else "correctness"
    return [
        Term("right", main, Fraction(90), right, f"{marking['right_parts']} of {marking['parts']} parts"),
        Term("time", DIMENSIONS[4], Fraction(10), time, _time_text(item)),
    ]


def coding_terms(item: InterviewQuestion, marking: Mapping[str, Any]) -> list[Term]:
    """The terms of a coding item, from the last verdict before time was up."""
    total = int(marking["behaviours"])
    passed = Fraction(int(marking["behaviours_passed"]), total) if total else Fraction(0)
    points = [dict(point, kind="core") for point in marking["points"]]
    explained = weighted(points, "core")
    time = time_share(item.used_ms, item.budget, sure=passed >= Fraction(8, 10))
    checked = Fraction(int(bool(marking["checked"])))
    failures = max(0, int(marking["failed_submissions"]) - 1)
    verified = max(Fraction(0), checked - Fraction(failures, 4))
    if marking["empty"]:
        time = verified = Fraction(0)
    hidden = Fraction(60 if explained is not None else 80)
    terms = [
        Term(
            "hidden behaviours",
            "code",
            hidden,
            passed,
            f"{marking['behaviours_passed']} of {total} behaviours",
        )
    ]
    if explained is not None:
        terms.append(Term("invariants", "code", Fraction(20), explained, "invariants explained"))
    terms.append(Term("time", DIMENSIONS[4], Fraction(10), time, _time_text(item)))
    terms.append(
        Term(
            "verification",
            "code",
            Fraction(10),
            verified,
            f"{own_check(ran=bool(checked))}, {plural(failures, 'failed submission')} after the first",
        )
    )
    return terms


def _time_text(item: InterviewQuestion) -> str:
    return f"{item.used_ms / 1000:.1f} s of {item.budget} s"


def terms_of(item: InterviewQuestion, marking: Mapping[str, Any]) -> list[Term]:
    """The terms of any item; all zero where it was not reached."""
    if item.kind == "coding":
        terms = coding_terms(item, marking)
    elif item.kind == "recall":
        terms = recall_terms(item, marking)
    elif item.kind == INCIDENT:
        terms = incident_terms(item, marking)
    else:
        terms = machine_terms(item, marking)
    if not item.reached:
        return [Term(t.name, t.dimension, t.weight, Fraction(0), "not reached") for t in terms]
    return terms


def mark_of(terms: Sequence[Term]) -> int:
    """The item's mark, 0 to 100; what is taken away takes no more than there is."""
    return half_up(max(Fraction(0), sum((term.points for term in terms), Fraction(0))))


def mean_mark(rows: Sequence[tuple[int, int]]) -> int:
    """The mean of (planned seconds, mark), weighted by the seconds; 0 without rows."""
    seconds = sum(planned for planned, _ in rows)
    return half_up(Fraction(sum(planned * mark for planned, mark in rows), seconds)) if seconds else 0


def dimensions(scored: Sequence[tuple[InterviewQuestion, Sequence[Term]]]) -> dict[str, DimensionMark]:
    """The same terms regrouped: percent earned and level 1 to 4 by dimension; only those that were asked."""
    found = {}
    for name in DIMENSIONS:
        earned = possible = Fraction(0)
        for item, terms in scored:
            for term in terms:
                if term.dimension == name:
                    earned += item.planned * term.points
                    possible += item.planned * max(Fraction(0), term.weight)
        if possible:
            percent = half_up(100 * max(Fraction(0), earned) / possible)
            found[name] = DimensionMark(percent, level_of(percent))
    return found


def level_of(percent: int) -> int:
    """1 below 40, 2 below 60, 3 below 80, else 4."""
    return 1 + sum(percent >= limit for limit in LEVEL_LIMITS)


def interval(rows: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """80 % of the totals that other items of the same kind might have given (bootstrap over items)."""
    if not rows:
        return 0, 0
    rng = random.Random(DRAW_SEED)  # noqa: S311 - must give the same interval on every machine
    totals = []
    for _ in range(DRAWS):
        drawn = rng.choices(rows, k=len(rows))
        seconds = sum(planned for planned, _ in drawn)
        totals.append((2 * sum(planned * mark for planned, mark in drawn) + seconds) // (2 * seconds))
    totals.sort()
    low, high = (totals[min(DRAWS - 1, DRAWS * percent // 100)] for percent in INTERVAL)
    return low, high


def band(total: int, pass_mark: int, dims: Mapping[str, DimensionMark]) -> BandResult:
    """Place a total against the pass mark; a dimension at level 1 keeps it below, whatever the total."""
    weak = [name for name, row in dims.items() if row.level == 1]
    if total >= pass_mark and weak:
        names = " and ".join(weak)
        return BandResult(Band.BELOW, f"{total} reaches the pass mark {pass_mark}, but {names} is at level 1")
    if total >= pass_mark + STRONG_ABOVE:
        return BandResult(Band.STRONG, f"{total} is at least {pass_mark} + {STRONG_ABOVE}")
    if total >= pass_mark:
        return BandResult(Band.PASS, f"{total} is at least the pass mark {pass_mark}")
    return BandResult(Band.BELOW, f"{total} is below the pass mark {pass_mark}")
