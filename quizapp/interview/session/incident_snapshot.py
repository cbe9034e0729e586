"""An incident as an interview asks it, and in words: what was bought, what was committed."""

from collections.abc import Iterator, Mapping
from typing import Any

from quizapp.incidents.diagnosis import rejection, snapshot, text_of
from quizapp.incidents.model import NO_FAULT, SECTIONS, Incident, IncidentLibrary


def incident_snapshot(incident: Incident, library: IncidentLibrary, seed: int) -> dict[str, Any]:
    """The incident as asked under ``seed``, with its rubric."""
    return {
        **snapshot(incident, library, seed),
        "prompt": f"{incident.setup}\n\n{incident.symptom}",
        "answer": incident.answer,
        "say": "",
        "key_points": [
            {
                "text": point.text,
                "weight": point.weight,
                "kind": section,
                "terms": list(point.terms),
                "verify": point.verify,
            }
            for section in SECTIONS
            for point in incident.points[section]
        ],
        "misconceptions": [{"wrong": m.wrong, "right": m.right} for m in incident.misconceptions],
        "follow_ups": [],
    }


def readings_bought(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each reading that was bought, in order: title, seconds, predicted, outcome, right, shows."""
    for row in item.get("bought", ()):
        reading = next(r for r in item["question"]["readings"] if r["id"] == row["reading"])
        yield {**row, "title": reading["title"], "shows": reading["shows"], "asks": reading["asks"],
               "right": row["predicted"] == row["outcome"] if row["predicted"] else None}  # fmt: skip


def committed(item: Mapping[str, Any]) -> list[tuple[str, str, str, float | None]]:
    """(name, said, right answer, share that was right) of the diagnosis; None where nothing was said."""
    asked, said = item["question"], item["given"] or {}
    rows: list[tuple[str, str, str, float | None]] = []
    for name, key, words in (("cause", "cause", asked["causes"]), ("place", "place", asked["places"])):
        text = text_of(words, said.get(key))
        rows.append((name, text, text_of(words, asked[key]), said.get(key) == asked[key] if text else None))
    rights = [row["id"] for row in asked["states"] if row["right"]]
    named = [row["id"] for row in asked["states"] if row["id"] in (said.get("states") or ())]
    rows.append((
        "state to save",
        "; ".join(text_of(asked["states"], name) for name in named),
        _states_amiss(asked, rights, named),
        set(named) == set(rights) if named else None,
    ))  # fmt: skip
    decoy = next((row for row in asked["causes"] if row["id"] == said.get("decoy")), None)
    by = text_of(asked["readings"], said.get("reading"), "title")
    text = "" if decoy is None else f"{decoy['text']}{f' (by {by})' if by else ''}"
    counts = text and asked["cause"] != NO_FAULT  # in a healthy run the control run counts instead
    held = rejection(asked, said, item.get("bought", ())) if counts else None
    rows.append(("rejected", text, rejected_text(asked), held))
    return rows


def _states_amiss(asked: Mapping[str, Any], rights: list[str], named: list[str]) -> str:
    """What was left out, and what no replay needs."""
    missing = "; ".join(text_of(asked["states"], name) for name in rights if name not in named)
    needless = "; ".join(text_of(asked["states"], name) for name in named if name not in rights)
    parts = [f"{'also ' if named else ''}{missing}" if missing else "", f"not {needless}" if needless else ""]
    return "; ".join(part for part in parts if part)


def rejected_text(asked: Mapping[str, Any]) -> str:
    """The run's decoys, each with the cheapest reading that rejects it."""
    prices = {row["id"]: row["seconds"] for row in asked["readings"]}
    parts = []
    for cause in asked["causes"]:
        if cause["id"] in asked["decoys"] and cause["rejected_by"]:
            by = min(cause["rejected_by"], key=lambda name: prices[name])
            parts.append(f"{cause['text']} (by {text_of(asked['readings'], by, 'title')})")
    return "; ".join(parts)


def cheapest_text(asked: Mapping[str, Any]) -> str:
    """The cheapest path in words."""
    found = asked["cheapest"]
    names = [text_of(asked["readings"], name, "title") for name in found["readings"]]
    return f"{' and '.join(names)}, {found['seconds']} s"
