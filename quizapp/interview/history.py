"""What past interviews say: inflation of own marks, calibration, comparison, pooled figure, trends."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from quizapp.interview.scoring.terms import half_up
from quizapp.interview.session.question import IN_WORDS

SELF, MACHINE = "self", "machine"
SHRINK = 10
LIMIT = 15
HALF_LIFE_DAYS = 14
WINDOW_DAYS = 30
SETTLED = 3
LAST = 3
TOPIC_LEAST = 8
BINS = (0, 25, 50, 75, 100)


def rows_of(document: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The items of a finished interview that were reached."""
    return (item for item in document["items"] if item["marks"]["reached"])


def inflation(documents: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """By topic the sums and numbers of self-marked and machine-marked items; exact, so recomputable."""
    found: dict[str, dict[str, int]] = {}
    for document in documents:
        for item in rows_of(document):
            by = SELF if item["kind"] in IN_WORDS else MACHINE
            row = found.setdefault(item["topic"], dict.fromkeys(_COUNTS, 0))
            row[f"{by}_sum"] += item["marks"]["total"]
            row[f"{by}_n"] += 1
    return found


_COUNTS = ("self_sum", "self_n", "machine_sum", "machine_n")


def inflation_of(row: Mapping[str, int]) -> Fraction:
    """Self-marked mean minus machine-marked mean, shrunk by n / (n + 10); 0 without one of them."""
    number = min(row["self_n"], row["machine_n"])
    if not number:
        return Fraction(0)
    gap = Fraction(row["self_sum"], row["self_n"]) - Fraction(row["machine_sum"], row["machine_n"])
    return gap * Fraction(number, number + SHRINK)


def adjusted(total: int, items: Sequence[Mapping[str, Any]], table: Mapping[str, Mapping[str, int]]) -> int:
    """The total less the inflation of its self-marked items, moved by at most 15."""
    seconds = sum(item["planned"] for item in items)
    if not seconds:
        return total
    off = Fraction(0)
    for item in items:
        if item["kind"] in IN_WORDS and item["marks"]["reached"] and item["topic"] in table:
            off += item["planned"] * inflation_of(table[item["topic"]])
    off = max(Fraction(-LIMIT), min(Fraction(LIMIT), off / seconds))
    return max(0, min(100, half_up(total - off)))


def calibration(items: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Brier score and bias of the confidences against the marks, and a table of five bins.

    The outcome of an item is its mark as a share. ``bias`` is mean confidence minus mean mark in percent
    points: above 0 is too sure.
    """
    pairs = [(i["confidence"], i["marks"]["total"]) for i in items if i["confidence"] is not None]
    bins = []
    for low in BINS:
        marks = [mark for confidence, mark in pairs if confidence == low]
        bins.append({"confidence": low, "items": len(marks), "mean_mark": _mean(marks)})
    if not pairs:
        return {"items": 0, "brier": None, "bias": None, "bins": bins}
    brier = Fraction(sum((c - m) ** 2 for c, m in pairs), 10_000 * len(pairs))
    bias = Fraction(sum(c - m for c, m in pairs), len(pairs))
    return {"items": len(pairs), "brier": round(float(brier), 4), "bias": round(float(bias), 1), "bins": bins}


def _mean(marks: Sequence[int]) -> float | None:
    return round(sum(marks) / len(marks), 1) if marks else None


def topic_calibration(documents: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Calibration by topic over several interviews, where there are at least eight answers."""
    by_topic: dict[str, list[Mapping[str, Any]]] = {}
    for document in documents:
        for item in rows_of(document):
            by_topic.setdefault(item["topic"], []).append(item)
    found = {topic: calibration(items) for topic, items in by_topic.items()}
    return {topic: row for topic, row in sorted(found.items()) if row["items"] >= TOPIC_LEAST}


def when(document: Mapping[str, Any]) -> datetime:
    """When an interview began."""
    return datetime.fromisoformat(document["started"])


def comparison(document: Mapping[str, Any], past: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Against the last three of the role (``past`` newest first): their totals and the difference."""
    same = [d for d in past if d["role"] == document["role"] and d["id"] != document["id"]][:LAST]
    rows = [
        {
            "id": d["id"],
            "started": d["started"],
            "minutes": d["minutes"],
            "total": d["totals"]["raw"],
            "dimensions": {name: row["percent"] for name, row in d["dimensions"].items()},
        }
        for d in same
    ]
    total = document["totals"]["raw"]
    mean = Fraction(sum(row["total"] for row in rows), len(rows)) if rows else None
    return {"last": rows, "difference": None if mean is None else half_up(total - mean)}


def pooled(document: Mapping[str, Any], past: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The totals of the role pooled, each 14 days halving a weight; and how many lie in 30 days."""
    end = when(document)
    weights = total = Fraction(0)
    recent = 0
    for other in [
        document,
        *(d for d in past if d["role"] == document["role"] and d["id"] != document["id"]),
    ]:
        days = max(0, (end - when(other)).days)
        weight = Fraction(1, 2) ** (days // HALF_LIFE_DAYS) * _part(days % HALF_LIFE_DAYS)
        weights += weight
        total += weight * other["totals"]["raw"]
        recent += days <= WINDOW_DAYS
    return {"total": half_up(total / weights), "mocks_in_30_days": recent, "provisional": recent < SETTLED}


def _part(days: int) -> Fraction:
    """2 to the minus days / 14, as a fraction with six decimals so that everyone gets the same."""
    return Fraction(round(1_000_000 * 0.5 ** (days / HALF_LIFE_DAYS)), 1_000_000)


def weak_topics(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Topics by marks lost, the costliest first."""
    by_topic: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        by_topic.setdefault(item["topic"], []).append(item)
    rows = []
    for topic, own in by_topic.items():
        seconds = sum(item["planned"] for item in own)
        lost = sum(item["planned"] * (100 - item["marks"]["total"]) for item in own)
        rows.append({"topic": topic, "items": len(own), "mean": round(100 - lost / seconds, 1), "lost": lost})
    return sorted(rows, key=lambda row: (-row["lost"], row["topic"]))
