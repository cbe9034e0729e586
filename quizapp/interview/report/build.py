"""The report of an interview as one document: `quizapp.mock/1`, from which every other form is made."""

from collections.abc import Mapping, Sequence
from typing import Any

from quizapp.interview import history
from quizapp.interview.blueprint import form_of
from quizapp.interview.scoring import score
from quizapp.interview.session.session import InterviewSession

SCHEMA = "quizapp.mock/1"


def build(
    head: Mapping[str, Any],
    session: InterviewSession,
    markings: Sequence[Mapping[str, Any]],
    past: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The report of a session from its markings; ``past`` are the reports before it, newest first."""
    scored = [
        (item, score.terms_of(item, marking)) for item, marking in zip(session.items, markings, strict=True)
    ]
    rows = []
    for (item, terms), marking in zip(scored, markings, strict=True):
        marks = {
            "total": score.mark_of(terms),
            "reached": item.reached,
            "terms": [term.as_json() for term in terms],
        }
        rows.append(item.as_json() | {"marking": dict(marking), "marks": marks, "effect": None})
    pairs = [(row["planned"], row["marks"]["total"]) for row in rows]
    reached = [(row["planned"], row["marks"]["total"]) for row in rows if row["marks"]["reached"]]
    dims = score.dimensions(scored)
    raw = score.mean_mark(pairs)
    band, why = score.band(raw, head["pass_mark"], dims)
    low, high = score.interval(pairs)
    document: dict[str, Any] = {
        **head,
        "clock": {"elapsed_ms": session.elapsed_ms, "events": list(session.log)},
        "phases": [
            {"name": p.name, "title": p.title, "seconds": p.seconds, "used_ms": p.used_ms}
            for p in session.phases
        ],
        "items": rows,
        "dimensions": dims,
        "band": {"name": band, "why": why},
        "interval": {"low": low, "high": high, "draws": score.DRAWS, "seed": score.DRAW_SEED},
        "reviews": [],
        "remarks": [],
        "tomorrow": [],
    }
    table = history.inflation([document, *past])
    document["totals"] = {
        "raw": raw,
        "adjusted": history.adjusted(raw, rows, table),
        "reached": score.mean_mark(reached),
        "items": len(rows),
        "items_reached": len(reached),
    }
    document["inflation"] = {
        topic: row | {"inflation": round(float(history.inflation_of(row)), 2)}
        for topic, row in sorted(table.items())
    }
    document["calibration"] = history.calibration(history.rows_of(document))
    document["calibration"]["topics"] = history.topic_calibration([document, *past])
    document["comparison"] = history.comparison(document, past)
    document["pooled"] = history.pooled(document, past)
    document["weak_topics"] = history.weak_topics(rows)
    document["next_steps"] = _next_steps(document)
    return document


def _next_steps(document: Mapping[str, Any]) -> list[dict[str, str]]:
    """What to do next, as commands."""
    steps = [
        {"what": f"Drill {row['topic']}", "command": f"quizapp drill --topic {row['topic']}"}
        for row in document["weak_topics"][:2]
        if row["mean"] < 80
    ]
    costly = sorted(
        document["items"], key=lambda i: (-i["planned"] * (100 - i["marks"]["total"]), i["number"])
    )
    slugs = list(dict.fromkeys(item["exercise"] for item in costly if item["marks"]["total"] < 80))
    steps += [
        {"what": f"Write {slug}", "command": f"quizapp exercise {slug}"} for slug in slugs[: 5 - len(steps)]
    ]
    what, command = form_of(document).another(document["role"], document["minutes"])
    return [*steps, {"what": what, "command": command}]


def costliest(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The items by marks lost, weighted with their planned time, the costliest first."""
    return sorted(items, key=lambda item: (-lost(item), item["number"]))


def best(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The three with the highest marks from 50 on, of those that are not among the three costliest."""
    dear = [item["number"] for item in costliest(items)[:3] if lost(item)]
    good = [item for item in items if item["marks"]["total"] >= 50 and item["number"] not in dear]
    return sorted(good, key=lambda item: (-item["marks"]["total"], -item["planned"], item["number"]))[:3]


def lost(item: Mapping[str, Any]) -> int:
    """Marks lost times planned seconds."""
    return int(item["planned"] * (100 - item["marks"]["total"]))


def redacted(document: Mapping[str, Any]) -> dict[str, Any]:
    """The report without the learner's own words, code and numbers, and without a friend's name."""
    items = []
    for item in document["items"]:
        marking = dict(item["marking"])
        if "points" in marking:
            marking["points"] = [dict(point, words=[], quote="") for point in marking["points"]]
        if "note" in marking:
            marking["note"] = ""
        items.append(
            dict(
                item,
                typed="",
                given=None,
                code="",
                marking=marking,
                probes=[dict(probe, typed="") for probe in item["probes"]],
                submissions=[_without_source(submission) for submission in item["submissions"]],
                bought=[dict(row, predicted="") for row in item.get("bought", ())],
            )
        )
    reviews = [dict(review, by=f"friend {n}") for n, review in enumerate(document["reviews"], 1)]
    return {**document, "items": items, "reviews": reviews, "redacted": True}


_VERDICT = ("schema", "exercise", "device", "status", "passed", "seconds", "seed", "tier", "versions")
_TEST = ("name", "behaviour", "passed", "seconds")


def _without_source(submission: Mapping[str, Any]) -> dict[str, Any]:
    """Only what the hidden tests say by themselves: messages, output and notes quote the learner's code."""
    full = submission["verdict"]
    verdict = {key: full[key] for key in _VERDICT if key in full}
    verdict["tests"] = [
        {key: test[key] for key in _TEST if key in test} | {"message": ""} for test in full.get("tests", ())
    ]
    return dict(submission, source="", verdict=verdict)
