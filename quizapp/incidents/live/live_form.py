"""Reads the part ``live:`` of an incident's YAML, and reports faults with file and line."""

import math
from collections.abc import Mapping
from typing import Any

from quizapp.incidents.mapping_reader import MappingReader, YamlMapping, line_of
from quizapp.incidents.model import LiveForm, LiveSymptom
from quizapp.judge.authoring.mutants import MutantEdit, edit_problems, read_edit

_KEYS = (
    *("baseline", "setup", "edits", "decoys", "right", "measure", "band", "guard", "guard_at", "steps"),
    *("minimal_steps", "symptom", "seed", "resume"),
)
_SYMPTOM_KEYS = ("field", "at", "any", "above", "below", "non_finite", "equal_to")
_CONDITIONS = ("above", "below", "non_finite", "equal_to")
MOST_STEPS = 100_000
MOST_SEED = 999  # the check for authors uses seeds from 1000 on


def read_live_form(data: object, reader: MappingReader, line: int) -> LiveForm | None:
    """Read the live form of an incident; None if it is no mapping. Faults are added to ``reader``."""
    line = line_of(data, line)
    values = reader.mapping(data, "live", line)
    if not values:
        return None
    reader.only(values, _KEYS, line)
    steps = reader.whole(values, "steps", line, 1, MOST_STEPS, 1) if "steps" in values else None
    seed = reader.whole(values, "seed", line, 0, MOST_SEED, 0) if "seed" in values else 0
    resume = reader.flag(values, "resume", line)
    return LiveForm(
        baseline=reader.text(values, "baseline", line),
        edits=_edits(values, "edits", reader, line),
        decoys=_decoys(values, reader, line),
        guard=_code(values, "guard", reader, line),
        guard_at=_code(values, "guard_at", reader, line),
        symptom=_symptom(values.get("symptom"), reader, line),
        minimal_steps=reader.whole(values, "minimal_steps", line, 1, MOST_STEPS, 1),
        setup=_edits(values, "setup", reader, line),
        right=_rights(values.get("right"), reader, line),
        measure=_options(values.get("measure"), reader, line),
        band=read_band(values.get("band"), reader, line),
        steps=steps,
        seed=seed,
        resume=resume,
        line=line,
    )


def _edits(data: YamlMapping, key: str, reader: MappingReader, line: int) -> tuple[MutantEdit, ...]:
    edits = data.get(key)
    if edits in (None, []):
        return ()
    problems = list(edit_problems(edits, key, line))
    for at, text in problems:
        reader.fault(at, text)
    return () if problems or not isinstance(edits, list) else tuple(read_edit(edit) for edit in edits)


def _decoys(data: YamlMapping, reader: MappingReader, line: int) -> dict[str, tuple[MutantEdit, ...]]:
    if data.get("decoys") is None:
        reader.fault(line, "'decoys' is missing; say what somebody who believes a decoy would change")
        return {}
    at = line_of(data["decoys"], line)
    decoys = reader.mapping(data["decoys"], "decoys", at)
    return {name: _edits(decoys, name, reader, at) for name in decoys}


def _rights(data: object, reader: MappingReader, line: int) -> tuple[tuple[MutantEdit, ...], ...]:
    if data in (None, []):
        return ()
    if not isinstance(data, list):
        reader.fault(line, "'right' must be a list of right fixes, each a list of edits")
        return ()
    return tuple(_edits({"right": fix}, "right", reader, line) for fix in data)


def _code(data: YamlMapping, key: str, reader: MappingReader, line: int) -> str:
    """Read a required text without stripping it: the indentation of code has a meaning."""
    value = data.get(key)
    if isinstance(value, str) and value.strip():
        return value.rstrip("\n")
    reader.fault(line, f"'{key}' is missing or not a text; add it")
    return ""


def _options(data: object, reader: MappingReader, line: int) -> Mapping[str, Any]:
    return {} if data is None else reader.mapping(data, "measure", line_of(data, line))


def read_band(data: object, reader: MappingReader, line: int) -> dict[str, tuple[float, float]]:
    """Read the lowest and highest value of each metric of a healthy run."""
    if data is None:
        return {}
    at = line_of(data, line)
    band = {}
    for name, value in reader.mapping(data, "band", at).items():
        if _is_range(value):
            band[name] = (float(value[0]), float(value[1]))  # type: ignore[index]
        else:
            reader.fault(at, f"the band of '{name}' must be [low, high], not {value!r}")
    return band


def _is_range(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(end) in (int, float) and not math.isnan(end) for end in value)
        and value[0] < value[1]
    )


def _symptom(data: object, reader: MappingReader, line: int) -> LiveSymptom:
    if data is None:
        reader.fault(line, "'symptom' is missing; say what the broken run's log shows, and at which step")
        return LiveSymptom("")
    at = line_of(data, line)
    values = reader.mapping(data, "symptom", at)
    reader.only(values, _SYMPTOM_KEYS, at)
    if sum(key in values for key in _CONDITIONS) != 1:
        reader.fault(at, f"'symptom' needs exactly one of {', '.join(_CONDITIONS)}")
    if ("at" in values) == reader.flag(values, "any", at):
        reader.fault(at, "'symptom' needs either 'at', the number of a step, or 'any: true'")
    return LiveSymptom(
        field=reader.text(values, "field", at),
        at=reader.whole(values, "at", at, 0, MOST_STEPS, 0) if "at" in values else None,
        above=_number(values, "above", reader, at),
        below=_number(values, "below", reader, at),
        non_finite=reader.flag(values, "non_finite", at),
        equal_to=reader.text(values, "equal_to", at) if "equal_to" in values else "",
    )


def _number(data: YamlMapping, key: str, reader: MappingReader, line: int) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        reader.fault(line, f"'{key}' must be a number, not {value!r}")
        return None
    return float(value)
