"""Marks a diagnosis against the stored readings: no reading is run again, nothing is a matter of opinion.

All functions take the plain snapshot that an interview stores (see ``snapshot``), so that later edits of
the content change no old mark.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quizapp.incidents.model import CONTROL, NO_FAULT, Incident, IncidentLibrary

FIELDS = ("cause", "place", "states", "decoy", "reading")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a diagnosis is worth, before weights.

    ``predicted`` of ``predictions`` were right. ``evidence`` is 1 where a decoy of the incident was
    rejected by a reading that was bought and excludes it, 0.5 for another offered cause, else 0; in a
    false alarm 1 where the control run was bought. ``paid`` and ``cheapest`` are seconds.
    ``edit``: a fault was named in a healthy run.
    """

    cause: bool
    place: bool
    predicted: int
    predictions: int
    evidence: float
    paid: int
    cheapest: int
    states_right: int
    states_wrong: int
    states: int
    false_alarm: bool
    edit: bool


def snapshot(incident: Incident, library: IncidentLibrary, seed: int) -> dict[str, Any]:
    """The incident as asked under ``seed``, with all that marking needs."""
    rng = random.Random(f"{incident.id}:{seed}")  # noqa: S311 - a shuffle, not a secret
    offered = rng.sample(incident.offered, len(incident.offered))
    states = rng.sample(library.states, len(library.states))
    path, seconds = cheapest_path(incident, library)
    return {
        "id": incident.id,
        "fault_class": incident.fault_class,
        "content_hash": incident.content_hash,
        "title": incident.title,
        "setup": incident.setup,
        "symptom": incident.symptom,
        "one_batch": incident.one_batch,
        "cause": incident.cause,
        "place": library.causes[incident.cause].place,
        "decoys": list(incident.decoys),
        "causes": [_cause(name, incident, library) for name in offered],
        "places": [{"id": name, "text": text} for name, text in library.places.items()],
        "states": [{"id": state.id, "text": state.text, "right": state.right} for state in states],
        "readings": [
            {
                "id": name,
                "title": reading.title,
                "seconds": reading.seconds,
                "asks": reading.asks,
                "outcomes": list(reading.outcomes),
                "outcome": incident.readings[name].outcome,
                "shows": incident.readings[name].shows,
            }
            for name, reading in library.readings.items()
            if name in incident.readings
        ],
        "cheapest": {"readings": list(path), "seconds": seconds},
        "hints": list(incident.hints),
    }


def _cause(name: str, incident: Incident, library: IncidentLibrary) -> dict[str, Any]:
    cause = library.causes[name]
    rejected = [key for key, row in incident.readings.items() if cause.excluded_by(key, row.outcome)]
    return {"id": name, "text": cause.text, "rejected_by": rejected}


def cheapest_path(incident: Incident, library: IncidentLibrary) -> tuple[tuple[str, ...], int]:
    """The readings that settle the case for the least seconds, and their price.

    They reject every decoy; for a false alarm it is the control run alone.
    """
    if incident.false_alarm:
        return (CONTROL,), library.readings[CONTROL].seconds
    best: dict[frozenset[str], tuple[int, tuple[str, ...]]] = {frozenset(): (0, ())}
    for name, row in incident.readings.items():
        price = library.readings[name].seconds
        rejects = {d for d in incident.decoys if library.causes[d].excluded_by(name, row.outcome)}
        for done, (seconds, path) in list(best.items()):
            more, cost = done | rejects, seconds + price
            if more not in best or (cost, len(path)) < (best[more][0], len(best[more][1]) - 1):
                best[more] = (cost, (*path, name))
    seconds, path = best[frozenset(incident.decoys)]
    return path, seconds


def diagnose(
    asked: Mapping[str, Any], given: Mapping[str, Any] | None, bought: Sequence[Mapping[str, Any]]
) -> Diagnosis:
    """Mark what was committed (``FIELDS``) after buying readings ({reading, seconds, predicted, outcome})."""
    said = given or {}
    paid = [row for row in bought if row["seconds"]]
    counted = paid or list(bought)
    rights = {state["id"] for state in asked["states"] if state["right"]}
    named = set(said.get("states") or ())
    healthy = asked["cause"] == NO_FAULT
    return Diagnosis(
        cause=said.get("cause") == asked["cause"],
        place=said.get("place") == asked["place"],
        predicted=sum(row["predicted"] == row["outcome"] for row in counted),
        predictions=len(counted),
        evidence=_evidence(asked, said, bought),
        paid=sum(row["seconds"] for row in bought),
        cheapest=asked["cheapest"]["seconds"],
        states_right=len(named & rights),
        states_wrong=len(named - rights),
        states=len(rights),
        false_alarm=healthy,
        edit=healthy and bool(said.get("cause")) and said.get("cause") != NO_FAULT,
    )


def _evidence(
    asked: Mapping[str, Any], said: Mapping[str, Any], bought: Sequence[Mapping[str, Any]]
) -> float:
    if asked["cause"] == NO_FAULT:
        return float(any(row["reading"] == CONTROL for row in bought))
    return rejection(asked, said, bought)


def rejection(
    asked: Mapping[str, Any], said: Mapping[str, Any], bought: Sequence[Mapping[str, Any]]
) -> float:
    """Worth of the rejected cause: 1 for a decoy of the run, 0.5 for another, 0 where nothing excludes it."""
    seen = {row["reading"] for row in bought}
    if said.get("reading") not in seen or said.get("decoy") == said.get("cause"):
        return 0.0
    rejected = next((cause for cause in asked["causes"] if cause["id"] == said.get("decoy")), None)
    if rejected is None or said["reading"] not in rejected["rejected_by"]:
        return 0.0
    return 1.0 if rejected["id"] in asked["decoys"] else 0.5


def text_of(rows: Sequence[Mapping[str, Any]], name: str | None, key: str = "text") -> str:
    """The words for an id among causes, places, states or readings; empty where there is none."""
    return next((str(row[key]) for row in rows if row["id"] == name), "")
