"""A friend marks the frozen answers without seeing the learner's own marks; both columns stay."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from quizapp.interview import score
from quizapp.interview.item import IN_WORDS, Item
from quizapp.interview.past import kappa

Ask = Callable[[str], str]
_YES = {"y": 1.0, "yes": 1.0, "1": 1.0, "h": 0.5, "half": 0.5, "n": 0.0, "no": 0.0, "0": 0.0, "": 0.0}


def to_mark(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The items with words to mark."""
    return [
        item
        for item in document["items"]
        if item["kind"] in IN_WORDS and item["marks"]["reached"] and item["typed"].strip()
    ]


def interview_friend(document: Mapping[str, Any], ask: Ask, say: Callable[[str], object]) -> dict[str, Any]:
    """Ask for every mark in turn; the second column. ``ask`` raises ``EOFError`` to stop half way."""
    name = ask("Your name: ").strip() or "a friend"
    columns: dict[str, dict[str, Any]] = {}
    items = to_mark(document)
    for number, item in enumerate(items, 1):
        say(f"\n--- {number} of {len(items)}: {item['question']['prompt'].strip()}\n")
        say(f"{item['typed'].strip()}\n")
        columns[str(item["number"])] = _column(item, ask, say)
    return review(document, name, columns)


def _column(item: Mapping[str, Any], ask: Ask, say: Callable[[str], object]) -> dict[str, Any]:
    marking = item["marking"]
    say("Was it said? y yes, h half, n or enter no.")
    points = [_held(f"  {point['text']}  [y/h/n] ", ask) for point in marking["points"]]
    wrong = [_held(f"  Stated wrongly: “{m['wrong']}”  [y/n] ", ask) > 0 for m in marking["misconceptions"]]
    probes = []
    for probe, typed in zip(marking["probes"], item["probes"], strict=True):
        if probe["asked"]:
            say(f"  Asked next: {probe['ask']}\n  Said: {typed['typed'].strip() or 'nothing'}")
            probes.append(_held(f"  Should be: {probe['answer']}  [y/h/n] ", ask))
        else:
            probes.append(0.0)
    return {"points": points, "misconceptions": wrong, "probes": probes}


def _held(prompt: str, ask: Ask) -> float:
    while True:
        answer = ask(prompt).strip().casefold()
        if answer in _YES:
            return _YES[answer]


def review(document: Mapping[str, Any], by: str, columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The second column with its total and how far both agree on the key points."""
    rows, pairs, marks = [], [], {}
    for item in document["items"]:
        column = columns.get(str(item["number"]))
        mark = item["marks"]["total"]
        if column is not None:
            mark = _mark(item, column)
            marks[str(item["number"])] = mark
            pairs += [
                (point["held"], held)
                for point, held in zip(item["marking"]["points"], column["points"], strict=True)
            ]
        rows.append((item["planned"], mark))
    same = sum(own == held for own, held in pairs)
    return {
        "by": by,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "items": {number: dict(column) | {"mark": marks[number]} for number, column in columns.items()},
        "total": score.mean_mark(rows),
        "agreement": {
            "points": len(pairs),
            "percent": round(100 * same / len(pairs)) if pairs else 100,
            "kappa": kappa(pairs),
        },
    }


def _mark(item: Mapping[str, Any], column: Mapping[str, Any]) -> int:
    marking = item["marking"]
    theirs = {
        **marking,
        "points": [dict(p, held=held) for p, held in zip(marking["points"], column["points"], strict=True)],
        "misconceptions": [
            dict(m, stated=stated)
            for m, stated in zip(marking["misconceptions"], column["misconceptions"], strict=True)
        ],
        "probes": [dict(p, held=held) for p, held in zip(marking["probes"], column["probes"], strict=True)],
    }
    return score.mark_of(score.terms_of(Item.from_json(item), theirs))


def columns_text(document: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Both columns side by side, and the agreement."""
    by_number = {str(item["number"]): item for item in document["items"]}
    yield f"{'':40} {'own':>5} {found['by'][:12]:>12}"
    for number, column in found["items"].items():
        item = by_number[number]
        yield f"{item['card'][:40]:40} {item['marks']['total']:>5} {column['mark']:>12}"
    yield f"{'total':40} {document['totals']['raw']:>5} {found['total']:>12}"
    agreement = found["agreement"]
    kappa_text = "" if agreement["kappa"] is None else f", weighted kappa {agreement['kappa']:.2f}"
    yield f"Agreement on {agreement['points']} key points: {agreement['percent']} %{kappa_text}"
