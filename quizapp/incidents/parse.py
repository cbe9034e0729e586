"""Converts YAML mappings into vocabulary and incidents, and reports faults with file and line."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from quizapp.bank import LEVELS
from quizapp.bank.key_terms import weak_term
from quizapp.bank.model import Fault, Misconception
from quizapp.bank.yaml_loader import LINE
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
from quizapp.util.suggest import did_you_mean

ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
REQUIRED = (
    *("id", "class", "level", "topic", "exercise", "title", "setup", "symptom", "one_batch", "cause"),
    *("offered", "decoys", "readings", "points", "hints", "answer"),
)
OPTIONAL = ("misconceptions", "sources")
YamlMapping = Mapping[str, object]


Made = TypeVar("Made")


class MappingReader:
    """Reads typed values from the mappings of one file and collects faults, each with its line."""

    def __init__(self, file: str, name: str) -> None:
        self.file, self.name = file, name
        self.faults: list[Fault] = []

    def fault(self, line: int, text: str) -> None:
        """Add a fault. Its text should also say what to do."""
        about = f"{self.name}: " if self.name else ""
        self.faults.append(Fault(self.file, line, f"{about}{text}"))

    def mapping(self, value: object, what: str, line: int) -> dict[str, object]:
        """Read a mapping, without the entry in which the YAML loader stores its line number."""
        if not isinstance(value, dict):
            self.fault(line, f"'{what}' must be a mapping")
            return {}
        return {str(key): entry for key, entry in value.items() if key != LINE}

    def text(self, data: YamlMapping, key: str, line: int) -> str:
        """Read a required text."""
        value = data.get(key)
        if value is None or value == "":
            self.fault(line, f"'{key}' is missing or empty; add it")
            return ""
        if isinstance(value, bool | dict | list):
            self.fault(line, f"'{key}' must be a text; quote it")
            return ""
        return str(value).strip()

    def texts(self, value: object, key: str, line: int) -> tuple[str, ...]:
        """Read an optional list of texts."""
        if value in (None, []):
            return ()
        if not isinstance(value, list) or any(isinstance(item, bool | dict | list) for item in value):
            self.fault(line, f"'{key}' must be a list of texts; quote them")
            return ()
        return tuple(str(item).strip() for item in value)

    def whole(self, data: YamlMapping, key: str, line: int, low: int, high: int, default: int) -> int:
        """Read a whole number from ``low`` to ``high``."""
        value = data.get(key, default)
        # bool is a subclass of int, so isinstance would accept true and false.
        if type(value) is not int or not low <= value <= high:
            self.fault(line, f"'{key}' must be a whole number from {low} to {high}, not {value!r}")
            return default
        return value

    def flag(self, data: YamlMapping, key: str, line: int) -> bool:
        """Read a truth value, which is false if it is missing."""
        value = data.get(key, False)
        if type(value) is not bool:
            self.fault(line, f"'{key}' must be true or false")
        return value is True

    def known(self, value: str, names: Collection[str], what: str, line: int) -> bool:
        """Return whether the value is one of the names. If not, add a fault that suggests the closest."""
        if value in names:
            return True
        hint = did_you_mean(value, names, "correct the name", most=1)
        self.fault(line, f"there is no {what} '{value}'; {hint}")
        return False

    def rows(
        self, value: object, key: str, line: int, make: Callable[[YamlMapping, int], Made]
    ) -> list[Made]:
        """Read a list of mappings by calling ``make`` with each mapping and its line."""
        if value in (None, []):
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.fault(line, f"'{key}' must be a list of mappings")
            return []
        return [make(item, line_of(item, line)) for item in value]

    def only(self, data: YamlMapping, allowed: tuple[str, ...], line: int) -> None:
        """Add a fault for each key that is not allowed."""
        for key in data:
            if key != LINE and key not in allowed:
                hint = did_you_mean(str(key), allowed, f"the keys are {', '.join(allowed)}", most=1)
                self.fault(line, f"unknown key '{key}'; {hint}")


def line_of(data: object, line: int) -> int:
    """Return the line of a mapping, or ``line`` for anything else."""
    return int(data.get(LINE, line)) if isinstance(data, dict) else line


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
    """Hash the content that the learner sees or is marked by: everything but exercise and sources."""
    seen = {key: value for key, value in data.items() if key not in {"exercise", "sources"}}
    text = json.dumps(_without_lines(seen), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_lines(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _without_lines(entry) for key, entry in value.items() if key != LINE}
    return [_without_lines(entry) for entry in value] if isinstance(value, list) else value
