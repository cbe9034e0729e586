"""From frozen answers to a marking: what the machine can mark, what it proposes, what the learner says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from quizapp.bank.answers import mark_choice, mark_cloze, mark_numeric, mark_order
from quizapp.bank.key_terms import matched_words
from quizapp.incidents.diagnosis import diagnose
from quizapp.interview.blueprint import Beat
from quizapp.interview.marking.text_evidence import (
    propose_beats,
    propose_points,
    propose_probe,
    propose_wrong,
    says_quote,
    says_something,
)
from quizapp.interview.session.question import (
    EMPTY,
    INCIDENT,
    UNREACHED,
    InterviewQuestion,
    drawn_of,
    points_of,
    question_of,
)

SELF_MARKED = ("recall", "coding", INCIDENT)


def propose(item: InterviewQuestion, beats: Sequence[Beat]) -> dict[str, Any]:
    """The marking of an item as the program proposes it; the learner changes it with `tick` and others."""
    if item.kind == "recall":
        return _recall(item, beats)
    if item.kind == "coding":
        return _coding(item)
    if item.kind == INCIDENT:
        return _incident(item, beats)
    return _machine(item)


def is_self_marked(item: InterviewQuestion) -> bool:
    """Whether the learner marks the answer: one in words, with at least one word, on a question reached."""
    words = bool(item.typed.strip() or any(probe.typed.strip() for probe in item.probes))
    return item.kind in SELF_MARKED and item.reached and words


def unmarked(marking: Mapping[str, Any]) -> dict[str, Any]:
    """The marking with its key points as if nobody had decided yet, to mark the answer again blind."""
    nothing = {
        "proposed": False,
        "words": [],
        "ticked": False,
        "half": False,
        "quote": "",
        "supported": False,
        "held": 0.0,
    }
    points = [point | nothing for point in marking["points"]]
    return {**marking, "empty": False, "misconceptions": [], "probes": [], "points": points}


def _points(item: InterviewQuestion, text: str) -> list[dict[str, Any]]:
    points = points_of(item)
    # a task of a page names what has to be explained: there only sentences taken from it prove nothing
    told = "" if item.kind == "coding" else None
    found = propose_points(points, text, item.question["prompt"], told)
    return [
        {
            "text": point.text,
            "weight": point.weight,
            "kind": point.kind,
            "proposed": bool(terms),
            "words": list(dict.fromkeys(matched_words(term, text) for term in terms)),
            "ticked": bool(terms),
            "half": False,
            "quote": "",
            "supported": bool(terms),
            "held": 1.0 if terms else 0.0,
        }
        for point, terms in zip(points, found, strict=True)
    ]


def _misconceptions(item: InterviewQuestion) -> list[dict[str, Any]]:
    rows = item.question["misconceptions"]
    found = [propose_wrong(row["wrong"], item.typed) for row in rows]
    return [
        {"wrong": row["wrong"], "right": row["right"], "proposed": said, "stated": said}
        for row, said in zip(rows, found, strict=True)
    ]


def _beats(beats: Sequence[Beat], shown: Sequence[bool]) -> list[dict[str, Any]]:
    return [
        {"name": beat.name, "check": beat.check, "proposed": held, "held": held}
        for beat, held in zip(beats, shown, strict=True)
    ]


def _recall(item: InterviewQuestion, beats: Sequence[Beat]) -> dict[str, Any]:
    prompt, points = item.question["prompt"], points_of(item)
    shown = propose_beats([beat.name for beat in beats], item.typed, prompt, points)
    rows = _points(item, item.typed)
    silent = not says_something(item.typed, prompt, points) and not any(row["proposed"] for row in rows)
    return {
        "by": "self",
        "empty": silent,
        "points": rows,
        "misconceptions": _misconceptions(item),
        "beats": _beats(beats, shown),
        "probes": [
            {
                "ask": probe.ask,
                "answer": probe.answer,
                "asked": probe.state not in (UNREACHED, "waiting"),
                "proposed": propose_probe(probe.answer, probe.ask, probe.typed),
                "held": propose_probe(probe.answer, probe.ask, probe.typed),
            }
            for probe in item.probes
        ],
    }


def _machine(item: InterviewQuestion) -> dict[str, Any]:
    question = question_of(item)
    given = item.given
    empty = given in EMPTY
    if empty:
        parts = {
            "order": len(question.steps) - 1,
            "cloze": max(1, question.text.count("[[")),
        }.get(item.kind, 1)
        return {"by": "machine", "empty": True, "right_parts": 0, "parts": parts, "note": "No answer."}
    if item.kind == "numeric":
        mark = mark_numeric(question, drawn_of(item), str(given))
        right, parts = int(mark.right == 1), 1
    elif item.kind == "choice":
        mark = mark_choice(question, int(given))
        right, parts = int(mark.right == 1), 1
    elif item.kind == "order":
        mark = mark_order(question, [int(step) for step in given])
        right, parts = sum(mark.parts), max(1, len(question.steps) - 1)
    else:
        mark = mark_cloze(question, [str(gap) for gap in given])
        right, parts = sum(mark.parts), max(1, len(mark.parts))
    return {"by": "machine", "empty": False, "right_parts": right, "parts": parts, "note": mark.note}


def _incident(item: InterviewQuestion, beats: Sequence[Beat]) -> dict[str, Any]:
    """The diagnosis is marked here for good; the answer in words like that to any question."""
    prompt, points = item.question["prompt"], points_of(item)
    rows = _points(item, item.typed)
    for row, point in zip(rows, item.question["key_points"], strict=True):
        row["verify"] = point["verify"]
    silent = not says_something(item.typed, prompt, points) and not any(row["proposed"] for row in rows)
    # the symptom must be told again, so telling it is not copying here
    shown = propose_beats([beat.name for beat in beats], "" if silent else item.typed, "", points)
    return {
        "by": "self",
        "empty": silent,
        "points": rows,
        "misconceptions": _misconceptions(item),
        "beats": _beats(beats, shown),
        "probes": [],
        "diagnosis": asdict(diagnose(item.question, item.given, item.bought)),
    }


def _coding(item: InterviewQuestion) -> dict[str, Any]:
    last = item.submissions[-1]["verdict"] if item.submissions else {}
    groups: dict[int, bool] = {}
    for test in last.get("tests", ()):
        groups[test["behaviour"]] = groups.get(test["behaviour"], True) and bool(test["passed"])
    total = len(groups) or len(item.question["behaviours"]) or 1
    first = item.submissions[0]["at_ms"] if item.submissions else None
    checked = any(first is None or check["at_ms"] <= first for check in item.checks)
    points = _points(item, item.typed)
    if not says_something(item.typed, item.question["prompt"], points_of(item)):
        points = [dict(p, ticked=False, supported=False, held=0.0, proposed=False) for p in points]
    return {
        "by": "machine",
        "empty": not item.submissions and not item.typed.strip(),
        "behaviours": total,
        "behaviours_passed": sum(groups.values()),
        "status": last.get("status", "no submission"),
        "checked": checked and bool(item.submissions),
        "failed_submissions": sum(not s["verdict"].get("passed") for s in item.submissions),
        "points": points,
        "misconceptions": [],
        "beats": [],
        "probes": [],
    }


def tick(
    marking: dict[str, Any], index: int, typed: str, *, ticked: bool, half: bool = False, quote: str = ""
) -> None:
    """Tick or untick a key point. A tick without matching words or a phrase from the answer counts half."""
    point = marking["points"][index]
    quote = quote.strip()
    point["ticked"] = ticked
    point["half"] = half and ticked
    point["quote"] = quote if ticked and says_quote(quote, typed) else ""
    point["supported"] = bool(ticked and (point["proposed"] or point["quote"]))
    if not ticked or marking["empty"]:
        point["held"] = 0.0
    else:
        point["held"] = 0.5 if point["half"] or not point["supported"] else 1.0


def needs_phrase(marking: Mapping[str, Any], index: int) -> bool:
    """Whether ticking this point asks for the phrase that says it."""
    return not marking["points"][index]["proposed"] and not marking["empty"]


def state_wrong(marking: dict[str, Any], index: int, *, stated: bool) -> None:
    """Answer "did you say this?"."""
    marking["misconceptions"][index]["stated"] = stated


def hold_probe(marking: dict[str, Any], index: int, held: float) -> None:
    """How right the answer to a follow-up was: 0, 0.5 or 1."""
    marking["probes"][index]["held"] = held
