"""Turns one YAML mapping into a `Question`, or into the faults that keep it out."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

from quizapp.bank import KINDS, LEVELS, TRACKS, Level, PointKind, QuestionKind
from quizapp.bank.key_terms import weak_term
from quizapp.bank.model import (
    Fault,
    FollowUp,
    KeyPoint,
    Misconception,
    Option,
    Question,
    Source,
    Tolerance,
)
from quizapp.bank.yaml_loader import LINE
from quizapp.util.suggest import did_you_mean

ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
COMMON_REQUIRED = ("id", "level", "kind", "prompt", "answer", "exercise")
COMMON_OPTIONAL = (
    *("say", "sources", "tags", "tracks", "scenario", "requires", "parent", "siblings", "aliases"),
    *("misconceptions", "follow_ups"),
)
BY_KIND: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "recall": (("say", "key_points"), ()),
    "numeric": (("values", "formula", "tolerance", "worked"), ("where", "let", "unit")),
    "choice": (("options",), ()),
    "order": (("steps",), ()),
    "cloze": (("text",), ()),
}


class Unfit(ValueError):
    """A value of the wrong form, with its line and the remedy."""

    def __init__(self, line: int, message: str):
        super().__init__(message)
        self.line = line


def read_question(data: Any, topic: str, file: str) -> tuple[Question | None, list[Fault]]:
    """The question that ``data`` describes; where it is faulty, None and what is wrong."""
    if not isinstance(data, dict):
        return None, [Fault(file, 1, "each question must be a mapping that starts with '- id:'")]
    line = int(data.get(LINE, 1))
    name = data.get("id", "?")
    faults = [
        Fault(file, at, f"question '{name}': {text}", str(name)) for at, text in _key_faults(data, line)
    ]
    if faults:
        return None, faults
    try:
        return _build(data, topic, file, line), []
    except Unfit as unfit:
        return None, [Fault(file, unfit.line or line, f"question '{name}': {unfit}", str(name))]


def _key_faults(data: dict[Any, Any], line: int) -> Iterator[tuple[int, str]]:
    kind = data.get("kind")
    if kind not in KINDS:
        yield line, f"kind must be one of {', '.join(KINDS)}, not {kind!r}"
        return
    required, optional = BY_KIND[kind]
    known = {*COMMON_REQUIRED, *COMMON_OPTIONAL, *required, *optional}
    for key in data:
        if key != LINE and key not in known:
            hint = did_you_mean(str(key), known, f"a {kind} question has no such key; remove it", most=1)
            yield line, f"unknown key '{key}'; {hint}"
    for key in (*COMMON_REQUIRED, *required):
        if data.get(key) in (None, "", [], {}) and not (key == "tolerance" and data.get(key) == 0):
            yield line, f"'{key}' is missing or empty; add it"
    if data.get("level") and data["level"] not in LEVELS:
        yield line, f"level must be one of {', '.join(LEVELS)}, not {data['level']!r}"
    if isinstance(data.get("id"), str) and not ID.fullmatch(data["id"]):
        yield line, "id may hold a-z, 0-9 and single hyphens only"


def _build(data: dict[Any, Any], topic: str, file: str, line: int) -> Question:
    kind = data["kind"]
    question = Question(
        id=_text(data, "id", line),
        topic=topic,
        level=Level(data["level"]),
        kind=QuestionKind(kind),
        prompt=_text(data, "prompt", line),
        answer=_text(data, "answer", line),
        exercise=_text(data, "exercise", line),
        say=_text(data, "say", line),
        sources=_rows(data, "sources", line, Source),
        tags=_names(data, "tags", line),
        tracks=_names(data, "tracks", line, TRACKS),
        scenario=bool(data.get("scenario", False)),
        requires=_names(data, "requires", line),
        parent=_text(data, "parent", line),
        siblings=_names(data, "siblings", line),
        aliases=_names(data, "aliases", line),
        misconceptions=_rows(data, "misconceptions", line, Misconception),
        follow_ups=_rows(data, "follow_ups", line, FollowUp),
        key_points=_key_points(data, line),
        options=_rows(data, "options", line, Option),
        steps=_texts(data, "steps", line),
        text=_text(data, "text", line),
        formula=_text(data, "formula", line),
        unit=_text(data, "unit", line),
        where=_text(data, "where", line),
        worked=_text(data, "worked", line),
        values=_values(data.get("values"), line),
        let=_let(data.get("let"), line),
        tolerance=_tolerance(data.get("tolerance"), line),
        file=file,
        line=line,
        content_hash=_content_hash(data),
    )
    _shape(question, line)
    return question


def _content_hash(data: dict[Any, Any]) -> str:
    """A hash of what the learner sees and is marked by; links and tags do not count."""
    unseen = {LINE, "tags", "tracks", "requires", "siblings", "parent", "aliases", "sources", "exercise"}
    seen = {str(key): value for key, value in data.items() if key not in unseen}
    text = json.dumps(_without_lines(seen), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_lines(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _without_lines(v) for k, v in value.items() if k != LINE}
    return [_without_lines(v) for v in value] if isinstance(value, list) else value


def _text(data: dict[Any, Any], key: str, line: int) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        raise Unfit(line, f"'{key}' must be a text; quote it")
    return str(value).strip("\n")


def _texts(data: dict[Any, Any], key: str, line: int) -> tuple[str, ...]:
    value = data.get(key) or []
    if not isinstance(value, list):
        raise Unfit(line, f"'{key}' must be a list, one '- ' a line")
    for item in value:
        if isinstance(item, dict):
            raise Unfit(
                int(item.get(LINE, line)), f"an entry of '{key}' must be a text; quote it (it holds ': ')"
            )
        if isinstance(item, bool | list) or item is None:
            raise Unfit(line, f"an entry of '{key}' must be a text; quote it")
    return tuple(str(item).strip() for item in value)


def _names(data: dict[Any, Any], key: str, line: int, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    names = _texts(data, key, line)
    for name in names:
        if known and name not in known:
            raise Unfit(line, f"'{key}' knows {', '.join(known)}; not '{name}'")
    return names


def _rows(data: dict[Any, Any], key: str, line: int, kind: Callable[..., Any]) -> tuple[Any, ...]:
    """The mappings under ``key`` as dataclass instances, their keys checked."""
    value = data.get(key) or []
    if not isinstance(value, list):
        raise Unfit(line, f"'{key}' must be a list of mappings")
    specs: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
    allowed = {spec.name: spec for spec in specs}
    rows = []
    for item in value:
        if not isinstance(item, dict):
            raise Unfit(line, f"each entry of '{key}' must be a mapping with {', '.join(allowed)}")
        at = int(item.get(LINE, line))
        row = {k: v for k, v in item.items() if k != LINE}
        for name in row:
            if name not in allowed:
                raise Unfit(at, f"'{key}' has no key '{name}'; known are {', '.join(allowed)}")
        for name, spec in allowed.items():
            if spec.default is MISSING and row.get(name) in (None, ""):
                raise Unfit(at, f"an entry of '{key}' lacks '{name}'; add it")
        rows.append(kind(**{name: _typed(v, allowed[name], at) for name, v in row.items()}))
    return tuple(rows)


def _typed(value: Any, spec: Field[Any], line: int) -> Any:
    if spec.type in (int, "int"):
        if type(value) is not int:
            raise Unfit(line, f"'{spec.name}' must be a whole number")
        return value
    if spec.type in (bool, "bool"):
        if type(value) is not bool:
            raise Unfit(line, f"'{spec.name}' must be true or false")
        return value
    if spec.type is PointKind:
        if value not in tuple(PointKind):
            raise Unfit(line, f"a key point's kind must be one of {', '.join(PointKind)}, not '{value}'")
        return PointKind(value)
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    if isinstance(value, dict):
        raise Unfit(line, f"'{spec.name}' must be a text; quote it (it holds ': ')")
    return str(value).strip("\n")


def _key_points(data: dict[Any, Any], line: int) -> tuple[KeyPoint, ...]:
    points: tuple[KeyPoint, ...] = _rows(data, "key_points", line, KeyPoint)
    for point in points:
        if not 1 <= point.weight <= 3:
            raise Unfit(line, "a key point's weight must be 1, 2 or 3")
        if not point.terms:
            raise Unfit(line, f"the key point '{point.text[:40]}…' lacks 'terms'; add words that show it")
        for term in point.terms:
            if why := weak_term(term):
                raise Unfit(line, f"the term '{term}' {why}")
    return points


def _values(value: Any, line: int) -> dict[str, tuple[Any, ...]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unfit(line, "'values' must map names to lists of values")
    out = {}
    for name, choices in value.items():
        if name == LINE:
            continue
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(name)):
            raise Unfit(line, f"the value name '{name}' may hold letters, digits and _ only")
        if not isinstance(choices, list) or not choices:
            raise Unfit(line, f"values of '{name}' must be a list with at least one entry")
        out[str(name)] = tuple(_number(choice, str(name), line) for choice in choices)
    return out


def _number(value: Any, name: str, line: int) -> int | float | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unfit(line, f"values of '{name}' must be numbers or texts")
    if isinstance(value, str):
        # YAML 1.1 reads 1e9 as a text.
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _let(value: Any, line: int) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unfit(line, "'let' must map names to formulas")
    return {str(name): str(formula) for name, formula in value.items() if name != LINE}


def _tolerance(value: Any, line: int) -> Tolerance:
    if value is None:
        return Tolerance()
    text = str(value).strip()
    try:
        if text.endswith("%"):
            return Tolerance(relative=float(text[:-1]) / 100)
        return Tolerance(absolute=float(text))
    except ValueError:
        raise Unfit(line, f"tolerance must be a share such as '1%' or a number, not {value!r}") from None


def _shape(question: Question, line: int) -> None:
    if question.kind == "recall" and not 3 <= len(question.key_points) <= 8:
        raise Unfit(line, f"has {len(question.key_points)} key points; 3 to 8 are wanted")
    if question.kind == "choice":
        if not 3 <= len(question.options) <= 5:
            raise Unfit(line, f"has {len(question.options)} options; 3 to 5 are wanted")
        if sum(option.right for option in question.options) != 1:
            raise Unfit(line, "exactly one option must have 'right: true'")
    if question.kind == "order" and not 3 <= len(question.steps) <= 8:
        raise Unfit(line, f"has {len(question.steps)} steps; 3 to 8 are wanted")
    if question.kind == "order" and len(set(question.steps)) < len(question.steps):
        raise Unfit(line, "two steps read the same; tell them apart")
    if question.kind == "cloze" and "[[" not in question.text:
        raise Unfit(line, "'text' has no gap; write one as [[answer]]")
