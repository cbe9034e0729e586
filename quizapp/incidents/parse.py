"""Converts YAML mappings into vocabulary and incidents, and reports faults with file and line."""

import hashlib
import json
import re
from collections.abc import Mapping

from quizapp.bank import LEVELS
from quizapp.bank.key_terms import weak_term
from quizapp.bank.model import Misconception
from quizapp.bank.yaml_loader import LINE
from quizapp.incidents.live.live_form import read_live_form
from quizapp.incidents.mapping_reader import MappingReader, YamlMapping, line_of
from quizapp.incidents.model import (
    NO_FAULT,
    NOTHING,
    SECTIONS,
    Cause,
    Incident,
    Reading,
    ReadingResult,
    RubricPoint,
    StatePart,
)

ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
REQUIRED = (
    *("id", "class", "level", "topic", "exercise", "title", "setup", "symptom", "one_batch", "cause"),
    *("offered", "decoys", "readings", "points", "hints", "answer"),
)
OPTIONAL = ("state", "misconceptions", "sources", "live")


def read_readings(data: object, reader: MappingReader) -> dict[str, Reading]:
    """Read the instruments, in the order in which they are offered."""
    readings = {}
    for name, row in reader.mapping(data, "readings", 1).items():
        line = line_of(row, 1)
        values = reader.mapping(row, name, line)
        reader.only(values, ("title", "seconds", "asks", "outcomes"), line)
        outcomes = reader.texts(values.get("outcomes"), "outcomes", line)
        if not 2 <= len(set(outcomes)) == len(outcomes) <= 5:
            reader.fault(line, f"the reading '{name}' needs two to five different outcomes")
        readings[name] = Reading(
            name,
            reader.text(values, "title", line),
            reader.whole(values, "seconds", line, 0, 120, 0),
            reader.text(values, "asks", line),
            outcomes,
        )
    return readings


def read_states(data: object, reader: MappingReader) -> tuple[StatePart, ...]:
    """Read the parts of a run's state, right ones and distractors."""

    def make(row: YamlMapping, line: int) -> StatePart:
        reader.only(row, ("id", "text", "right"), line)
        return StatePart(
            reader.text(row, "id", line), reader.text(row, "text", line), reader.flag(row, "right", line)
        )

    states = tuple(reader.rows(data, "states", 1, make))
    if len({state.id for state in states}) < len(states):
        reader.fault(1, "two states have the same id")
    if not any(state.right for state in states) or all(state.right for state in states):
        reader.fault(1, "'states' needs right ones and distractors")
    return states


def read_causes(
    data: object, readings: Mapping[str, Reading], places: Mapping[str, str], reader: MappingReader
) -> dict[str, Cause]:
    """Read the vocabulary of causes with the outcomes that were measured for each."""
    causes = {}
    for name, row in reader.mapping(data, "causes", 1).items():
        line = line_of(row, 1)
        values = reader.mapping(row, name, line)
        reader.only(values, ("text", "place", "expects"), line)
        place = reader.text(values, "place", line)
        reader.known(place, places, "place", line)
        expects = {}
        for reading, value in reader.mapping(values.get("expects") or {}, "expects", line).items():
            outcomes = reader.texts(value if isinstance(value, list) else [value], reading, line)
            if reader.known(reading, readings, "reading", line):
                for outcome in outcomes:
                    reader.known(outcome, readings[reading].outcomes, f"outcome of {reading}", line)
            expects[reading] = outcomes
        causes[name] = Cause(name, reader.text(values, "text", line), place, expects)
    if causes and (NO_FAULT not in causes or causes[NO_FAULT].place != NOTHING):
        reader.fault(1, f"'causes' needs '{NO_FAULT}' with the place '{NOTHING}'")
    return causes


def read_incident(data: object, reader: MappingReader) -> Incident | None:
    """Read the incident of a file, or return None if it has faults. `validate.link_faults` checks links."""
    if not isinstance(data, dict):
        reader.fault(1, "the file must be a mapping that starts with 'id:'")
        return None
    line = line_of(data, 1)
    reader.only(data, (*REQUIRED, *OPTIONAL), line)
    name = reader.text(data, "id", line)
    reader.name = reader.name or f"incident '{name}'"
    if name and not ID.fullmatch(name):
        reader.fault(line, "id may hold a-z, 0-9 and single hyphens only")
    fault_class = reader.text(data, "class", line)
    if fault_class and not ID.fullmatch(fault_class):
        reader.fault(line, "class may hold a-z, 0-9 and single hyphens only")
    level = reader.text(data, "level", line)
    if level:
        reader.known(level, LEVELS, "level", line)
    one_batch = reader.text(data, "one_batch", line)
    if one_batch:
        reader.known(one_batch, ("passes", "fails"), "one_batch", line)
    incident = Incident(
        name,
        fault_class,
        level,
        reader.text(data, "topic", line),
        reader.text(data, "exercise", line),
        reader.text(data, "title", line),
        reader.text(data, "setup", line),
        reader.text(data, "symptom", line),
        one_batch,
        reader.text(data, "cause", line),
        reader.texts(data.get("offered"), "offered", line),
        reader.texts(data.get("decoys"), "decoys", line),
        _readings(data.get("readings"), reader, line),
        _points(data.get("points"), reader, line),
        reader.texts(data.get("hints"), "hints", line),
        reader.text(data, "answer", line),
        _misconceptions(data.get("misconceptions"), reader, line),
        reader.texts(data.get("sources"), "sources", line),
        reader.file,
        line,
        content_hash(data),
        None if data.get("live") is None else read_live_form(data["live"], reader, line),
        reader.texts(data.get("state"), "state", line),
    )
    return None if reader.faults else incident


def _readings(data: object, reader: MappingReader, line: int) -> dict[str, ReadingResult]:
    results = {}
    for name, row in reader.mapping(data, "readings", line_of(data, line)).items():
        at = line_of(row, line)
        values = reader.mapping(row, name, at)
        reader.only(values, ("outcome", "shows"), at)
        results[name] = ReadingResult(reader.text(values, "outcome", at), reader.text(values, "shows", at))
    return results


def _points(data: object, reader: MappingReader, line: int) -> dict[str, tuple[RubricPoint, ...]]:
    at = line_of(data, line)
    values = reader.mapping(data, "points", at)
    reader.only(values, SECTIONS, at)

    def make(row: YamlMapping, line: int) -> RubricPoint:
        reader.only(row, ("text", "weight", "terms", "verify"), line)
        point = RubricPoint(
            reader.text(row, "text", line),
            reader.whole(row, "weight", line, 1, 3, 1),
            reader.texts(row.get("terms"), "terms", line),
            reader.flag(row, "verify", line),
            line,
        )
        if not point.terms:
            reader.fault(line, f"the point '{point.text[:40]}…' lacks 'terms'; add words that show it")
        for term in point.terms:
            if why := weak_term(term):
                reader.fault(line, f"the term '{term}' {why}")
        return point

    points = {name: tuple(reader.rows(values.get(name), name, at, make)) for name in SECTIONS}
    for name, of_section in points.items():
        if not of_section:
            reader.fault(at, f"'points' needs at least one under '{name}'")
    if points["fix"] and not any(point.verify for point in points["fix"]):
        reader.fault(at, "no point under 'fix' has 'verify: true'; say how the fix is proved")
    return points


def _misconceptions(data: object, reader: MappingReader, line: int) -> tuple[Misconception, ...]:
    def make(row: YamlMapping, line: int) -> Misconception:
        reader.only(row, ("wrong", "right"), line)
        return Misconception(reader.text(row, "wrong", line), reader.text(row, "right", line))

    return tuple(reader.rows(data, "misconceptions", line, make))


def content_hash(data: Mapping[str, object]) -> str:
    """Hash the content that the learner sees or is marked by: everything but exercise and sources.

    The live form is left out too: readings and key points of a stored sitting do not change with it.
    """
    seen = {key: value for key, value in data.items() if key not in {"exercise", "sources", "live"}}
    text = json.dumps(_without_lines(seen), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_lines(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _without_lines(entry) for key, entry in value.items() if key != LINE}
    return [_without_lines(entry) for entry in value] if isinstance(value, list) else value
