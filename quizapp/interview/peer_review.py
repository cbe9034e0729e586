"""A friend marks the frozen answers without seeing the learner's own marks; both columns stay."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from quizapp.interview.archive import kappa
from quizapp.interview.blueprint import form_of
from quizapp.interview.scoring import score
from quizapp.interview.session.question import IN_WORDS, InterviewQuestion
from quizapp.util.sanitize import escape_unprintable
from quizapp.util.text import plural

Ask = Callable[[str], str]


def to_mark(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The items with words to mark."""
    return [
        item
        for item in document["items"]
        if item["kind"] in IN_WORDS and item["marks"]["reached"] and item["typed"].strip()
    ]


def interview_friend(
    document: Mapping[str, Any], ask: Ask, say: Callable[[str], object], width: int = 80
) -> dict[str, Any]:
    """Ask for every mark in turn; the second column. ``ask`` raises ``EOFError`` to stop half way."""
    items = to_mark(document)
    say(_fit(_INTRO.format(what=_what(document, len(items))), width))
    name = " ".join(ask("\nYour name: ").split()) or "a friend"
    steps = [step for item in items for step in _steps(item)]
    held: list[float] = []
    shown = None
    while len(held) < len(steps):
        step = steps[len(held)]
        if step.item is not shown:
            shown = step.item
            say(_fit(_opening(step.item, items), width))
        answer = _held(_fit(step.text, width, "    "), step.halves, ask, say)
        if answer is None:
            del held[-1:]
        else:
            held.append(answer)
    return review(document, name, _columns(items, steps, held))


def _what(document: Mapping[str, Any], number: int) -> str:
    sitting = form_of(document).describe(document["title"], document["minutes"])
    return f"{plural(number, 'answer')} from {sitting}"


_INTRO = """{what}, to be marked by you.
You see the question, what was answered, and what a good answer holds, but not the learner's own marks.

Answer y (said), h (half of it) or n (not said). b takes the last one back. Ctrl+C stops without storing."""
_YES = {"y": 1.0, "yes": 1.0, "h": 0.5, "half": 0.5, "n": 0.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing to decide: a key point, a misconception or a follow-up."""

    item: Mapping[str, Any]
    kind: str
    text: str
    halves: bool = True


def _steps(item: Mapping[str, Any]) -> Iterator[_Step]:
    marking = item["marking"]
    for point in marking["points"]:
        yield _Step(item, "points", f"Said? {point['text']}")
    for row in marking["misconceptions"]:
        yield _Step(item, "misconceptions", f"Wrong, but said? “{row['wrong']}”", halves=False)
    for probe, typed in zip(marking["probes"], item["probes"], strict=True):
        if probe["asked"]:
            said = typed["typed"].strip() or "nothing"
            text = f"Asked next: {probe['ask']}\nAnswered: {said}\nRight is: {probe['answer']}\nSaid?"
            yield _Step(item, "probes", text)


def _opening(item: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> str:
    place = next(number for number, other in enumerate(items, 1) if other is item)
    head = f"--- {place} of {len(items)} ".ljust(60, "-")
    asked, typed = item["question"]["prompt"].strip(), item["typed"].strip()
    return f"\n{head}\n\nQUESTION\n{asked}\n\nANSWER\n{typed}\n\nWHAT A GOOD ANSWER HOLDS"


def _fit(text: str, width: int, hanging: str = "") -> str:
    """Lines too long for the width broken between words; control characters made visible."""
    lines = [escape_unprintable(line) for line in text.splitlines()]
    return "\n".join(
        textwrap.fill(line, width - 1, subsequent_indent=hanging) if len(line) >= width else line
        for line in lines
    )


def _held(prompt: str, halves: bool, ask: Ask, say: Callable[[str], object]) -> float | None:
    """What was answered; None to take the last answer back."""
    choice = "y/h/n" if halves else "y/n"
    while True:
        answer = ask(f"{prompt}  [{choice}] ").strip().casefold()
        if answer in {"b", "back"}:
            return None
        if answer in _YES and (halves or _YES[answer] != 0.5):
            return _YES[answer]
        say(f"  Please answer {'y, h or n' if halves else 'y or n'}; b takes the last one back.")


def _columns(
    items: Sequence[Mapping[str, Any]], steps: Sequence[_Step], held: Sequence[float]
) -> dict[str, dict[str, Any]]:
    """The answers by item; a follow-up that was not asked holds nothing."""
    columns: dict[str, dict[str, Any]] = {}
    for item in items:
        own = [(step.kind, mark) for step, mark in zip(steps, held, strict=True) if step.item is item]
        probes = iter([mark for kind, mark in own if kind == "probes"])
        columns[str(item["number"])] = {
            "points": [mark for kind, mark in own if kind == "points"],
            "misconceptions": [mark > 0 for kind, mark in own if kind == "misconceptions"],
            "probes": [next(probes) if probe["asked"] else 0.0 for probe in item["marking"]["probes"]],
        }
    return columns


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
        "empty": marking["empty"] and not any(column["points"]),  # somebody who read it heard something
        "points": [dict(p, held=held) for p, held in zip(marking["points"], column["points"], strict=True)],
        "misconceptions": [
            dict(m, stated=stated)
            for m, stated in zip(marking["misconceptions"], column["misconceptions"], strict=True)
        ],
        "probes": [dict(p, held=held) for p, held in zip(marking["probes"], column["probes"], strict=True)],
    }
    return score.mark_of(score.terms_of(InterviewQuestion.from_json(item), theirs))


def columns_text(document: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Both columns side by side, and the agreement."""
    by_number = {str(item["number"]): item for item in document["items"]}
    by = "".join(c for c in found["by"] if c.isprintable())[:16]
    yield f"{'':44} {'own':>5} {by:>16}"
    for number, column in found["items"].items():
        item = by_number[number]
        yield f"{item['card'][:44]:44} {item['marks']['total']:>5} {column['mark']:>16}"
    whole = f"the whole {form_of(document).noun}"
    yield f"{whole:44} {document['totals']['raw']:>5} {found['total']:>16}"
    agreement = found["agreement"]
    yield f"Agreement on {agreement['points']} key points: {agreement['percent']} %{_kappa(agreement)}"
    yield "Time and everything that the machine marks count the same in both columns."


def _kappa(agreement: Mapping[str, Any]) -> str:
    if agreement["kappa"] is None:
        return ""
    return f", weighted kappa {agreement['kappa']:.2f} (1 is the same throughout, 0 is chance)"
