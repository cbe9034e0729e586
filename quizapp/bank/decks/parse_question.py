"""Turns one YAML mapping into a `Question`, or into a list of its faults.

Every text and list has a maximum length, because a deck may come from anyone.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from quizapp.bank import KINDS, LEVELS, TRACKS, Level, PointKind, QuestionKind
from quizapp.bank.answers import GAP, gaps
from quizapp.bank.decks.short_form import completed, with_points
from quizapp.bank.key_terms import weak_term
from quizapp.bank.model import (
    DEFAULT_TOLERANCE,
    MAX_MUSTS,
    Fault,
    FollowUp,
    KeyPoint,
    Misconception,
    Option,
    Question,
    Source,
    Tolerance,
    Value,
)
from quizapp.bank.yaml_loader import LINE
from quizapp.errors import ContentError
from quizapp.util.suggest import did_you_mean

ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_ID = 100
MAX_TEXT = 20_000
MAX_TERM = 200
MAX_ENTRIES = 100
MAX_CHOICES = 1000
MAX_GAPS = 20
MAX_NUMBER = 1e300

REQUIRED = ("id", "level", "kind", "prompt", "answer", "exercise")
NEEDED = ("prompt", "answer")  # all that a card of a user's deck must have
OPTIONAL = (
    *("say", "sources", "tags", "tracks", "scenario", "requires", "parent", "siblings", "aliases"),
    *("misconceptions", "follow_ups"),
)
# Required and optional keys of each kind, in addition to those of every question.
BY_KIND: dict[QuestionKind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    QuestionKind.RECALL: (("say", "key_points"), ()),
    QuestionKind.NUMERIC: (
        ("values", "formula", "tolerance", "worked"),
        ("where", "let", "unit", "key_points"),
    ),
    QuestionKind.CHOICE: (("options",), ()),
    QuestionKind.ORDER: (("steps",), ()),
    QuestionKind.CLOZE: (("text",), ()),
}
# The fewest and the most entries of these lists.
COUNTS = {"key_points": (3, 8), "options": (3, 5), "steps": (3, 8)}

_EMPTY: tuple[object, ...] = (None, "", [], {})
_Row = TypeVar("_Row", Source, KeyPoint, Misconception, FollowUp, Option)


class InvalidValue(ContentError):
    """A value in a deck is malformed. The message also says how to fix it."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_question(
    data: object, topic: str, file: str, *, short: bool = False
) -> tuple[Question | None, list[Fault]]:
    """Read the question that ``data`` describes. If it is faulty, return None and its faults.

    A ``short`` one may lack everything but prompt and answer, and what its kind cannot be asked without.
    """
    if not isinstance(data, dict):
        return None, [Fault(file, 1, "each question must be a mapping that starts with '- id:'")]
    line = int(data[LINE])
    name = str(data.get("id", "?"))[:MAX_ID]
    if short:
        data = completed(data)
    faults = [Fault(file, line, f"question '{name}': {text}", name) for text in _key_faults(data, short)]
    if faults:
        return None, faults
    try:
        question = _build(_Fields(data, line), topic, file)
        return (with_points(question) if short else question), []
    except InvalidValue as error:
        return None, [Fault(file, error.line, f"question '{name}': {error}", name)]


def required_keys(kind: QuestionKind, *, short: bool) -> tuple[str, ...]:
    """The keys that a question of a kind must have, in the bank or in the ``short`` form of users' decks."""
    own = () if short and kind == QuestionKind.RECALL else BY_KIND[kind][0]
    return (*(NEEDED if short else REQUIRED), *own)


def _key_faults(data: dict[Any, Any], short: bool) -> Iterator[str]:
    kind = data.get("kind")
    if kind not in KINDS:
        yield f"kind must be one of {', '.join(KINDS)}, not {_shown(kind)}"
        return
    required, optional = BY_KIND[QuestionKind(kind)]
    keys = (*REQUIRED, *OPTIONAL, *required, *optional)
    for key in data:
        if key != LINE and key not in keys:
            hint = did_you_mean(str(key), keys, f"a {kind} question has no such key; remove it", most=1)
            yield f"unknown key '{str(key)[:40]}'; {hint}"
    for key in required_keys(QuestionKind(kind), short=short):
        if data.get(key) in _EMPTY:
            yield f"'{key}' is missing or empty; add it"
    if (level := data.get("level")) not in _EMPTY and level not in LEVELS:
        yield f"level must be one of {', '.join(LEVELS)}, not {_shown(level)}"
    if isinstance(data.get("id"), str | int) and not ID.fullmatch(str(data["id"])):
        yield "id may hold a-z, 0-9 and single hyphens only"
    if len(str(data.get("id"))) > MAX_ID:
        yield f"id is longer than {MAX_ID} characters; shorten it"


def _shown(value: object) -> str:
    """Quote a value from a deck for a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def _build(read: "_Fields", topic: str, file: str) -> Question:
    question = Question(
        id=read.text("id"),
        topic=topic,
        level=Level(read.text("level")),
        kind=QuestionKind(read.text("kind")),
        prompt=read.text("prompt"),
        answer=read.text("answer"),
        exercise=read.text("exercise"),
        say=read.text("say"),
        sources=read.rows("sources", Source),
        tags=read.texts("tags"),
        tracks=read.texts("tracks", TRACKS),
        scenario=read.flag("scenario"),
        requires=read.texts("requires"),
        parent=read.text("parent"),
        siblings=read.texts("siblings"),
        aliases=read.texts("aliases"),
        misconceptions=read.rows("misconceptions", Misconception),
        follow_ups=read.rows("follow_ups", FollowUp),
        key_points=read.key_points(),
        options=read.rows("options", Option),
        steps=read.texts("steps"),
        text=read.text("text"),
        formula=read.text("formula"),
        unit=read.text("unit"),
        where=read.text("where"),
        worked=read.text("worked"),
        values=read.values(),
        let=read.let(),
        tolerance=read.tolerance(),
        file=file,
        line=read.line,
        content_hash=_content_hash(read.data),
    )
    for problem in _shape_problems(question):
        raise InvalidValue(read.line, problem)
    return question


def _content_hash(data: dict[Any, Any]) -> str:
    """Hash what the learner sees and is marked by. Links and tags do not count."""
    unseen = {LINE, "tags", "tracks", "requires", "siblings", "parent", "aliases", "sources", "exercise"}
    seen = {str(key): value for key, value in data.items() if key not in unseen}
    text = json.dumps(_without_lines(seen), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _without_lines(value: object) -> object:
    if isinstance(value, dict):
        return {str(k): _without_lines(v) for k, v in value.items() if k != LINE}
    return [_without_lines(v) for v in value] if isinstance(value, list) else value


class _Fields:
    """Reads the values of one question. Every method raises `InvalidValue` for a malformed one."""

    def __init__(self, data: dict[Any, Any], line: int) -> None:
        self.data = data
        self.line = line

    def text(self, key: str) -> str:
        return _text(self.data.get(key), f"'{key}'", self.line)

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise InvalidValue(self.line, f"'{key}' must be true or false")
        return value

    def _list(self, key: str) -> list[Any]:
        value = self.data.get(key) or []
        if not isinstance(value, list):
            raise InvalidValue(self.line, f"'{key}' must be a list, one '- ' a line")
        if len(value) > MAX_ENTRIES:
            raise InvalidValue(self.line, f"'{key}' has {len(value)} entries; {MAX_ENTRIES} is the limit")
        return value

    def texts(self, key: str, allowed: tuple[str, ...] = ()) -> tuple[str, ...]:
        texts = tuple(_text(item, f"an entry of '{key}'", self.line).strip() for item in self._list(key))
        for text in texts:
            if not text:
                raise InvalidValue(self.line, f"an entry of '{key}' is empty; remove it")
            if allowed and text not in allowed:
                raise InvalidValue(self.line, f"'{key}' may hold {', '.join(allowed)}; not {_shown(text)}")
        return texts

    def rows(self, key: str, kind: type[_Row]) -> tuple[_Row, ...]:
        """Turn the mappings under ``key`` into instances of a dataclass after checking keys and types."""
        return tuple(self._row(key, item, kind) for item in self._list(key))

    def _row(self, key: str, item: object, kind: type[_Row]) -> _Row:
        specs: dict[str, Field[Any]] = {spec.name: spec for spec in fields(kind)}
        if not isinstance(item, dict):
            raise InvalidValue(self.line, f"each entry of '{key}' must be a mapping with {', '.join(specs)}")
        line = int(item[LINE])
        for name in item:
            if name != LINE and name not in specs:
                raise InvalidValue(line, f"'{key}' has no key {_shown(name)}; it has {', '.join(specs)}")
        for name, spec in specs.items():
            if spec.default is MISSING and item.get(name) in _EMPTY:
                raise InvalidValue(line, f"an entry of '{key}' lacks '{name}'; add it")
        present = {name: spec for name, spec in specs.items() if item.get(name) is not None}
        return kind(
            **{name: _READERS[spec.type](item[name], f"'{name}'", line) for name, spec in present.items()}
        )

    def key_points(self) -> tuple[KeyPoint, ...]:
        points = self.rows("key_points", KeyPoint)
        for point in points:
            if not 1 <= point.weight <= 3:
                raise InvalidValue(self.line, "a key point's weight must be 1, 2 or 3")
            if not point.terms:
                text = f"the key point '{point.text[:40]}…' lacks 'terms'; add words that show it"
                raise InvalidValue(self.line, text)
            for term in point.terms:
                if len(term) > MAX_TERM:
                    raise InvalidValue(
                        self.line, f"the term '{term[:40]}…' is too long; {MAX_TERM} is the limit"
                    )
                if why := weak_term(term):
                    raise InvalidValue(self.line, f"the term '{term}' {why}")
        if (count := sum(point.must for point in points)) > MAX_MUSTS:
            text = f"{count} key points have 'must: true'; at most {MAX_MUSTS} can be musts"
            raise InvalidValue(self.line, text)
        return points

    def _named(self, key: str, what: str) -> dict[str, Any]:
        """The mapping under ``key``. Its keys are names that formulas use."""
        value = self.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise InvalidValue(self.line, f"'{key}' must map names to {what}")
        names = {str(name): entry for name, entry in value.items() if name != LINE}
        for name in names:
            if not _NAME.fullmatch(name):
                raise InvalidValue(self.line, f"the name {_shown(name)} may hold letters, digits and _ only")
        if len(names) > MAX_ENTRIES:
            raise InvalidValue(self.line, f"'{key}' has {len(names)} names; {MAX_ENTRIES} is the limit")
        return names

    def values(self) -> dict[str, tuple[Value, ...]]:
        values: dict[str, tuple[Value, ...]] = {}
        for name, choices in self._named("values", "lists of values").items():
            if not isinstance(choices, list) or not choices:
                text = f"values of '{name}' must be a list with at least one entry"
                raise InvalidValue(self.line, text)
            if len(choices) > MAX_CHOICES:
                text = f"'{name}' has {len(choices)} values; {MAX_CHOICES} is the limit"
                raise InvalidValue(self.line, text)
            values[name] = tuple(_value(choice, name, self.line) for choice in choices)
        return values

    def let(self) -> dict[str, str]:
        formulas = self._named("let", "formulas")
        return {name: _text(formula, f"'{name}'", self.line) for name, formula in formulas.items()}

    def tolerance(self) -> Tolerance:
        value = self.data.get("tolerance")
        if value is None:
            return DEFAULT_TOLERANCE
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = -1.0  # refused below
        if not 0 <= number < MAX_NUMBER:
            remedy = f"must be a share such as '1%' or a number, not {_shown(value)}"
            raise InvalidValue(self.line, f"tolerance {remedy}")
        return Tolerance(relative=number / 100) if text.endswith("%") else Tolerance(absolute=number)


def _text(value: object, what: str, line: int) -> str:
    if value is None and not what.startswith("an entry"):
        return ""
    if isinstance(value, dict):
        raise InvalidValue(int(value[LINE]), f"{what} must be a text; quote it (it holds ': ')")
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise InvalidValue(line, f"{what} must be a text; quote it")
    text = str(value).strip("\n")
    if len(text) > MAX_TEXT:
        raise InvalidValue(line, f"{what} is {len(text):,} characters long; {MAX_TEXT:,} is the limit")
    return text


def _whole(value: object, what: str, line: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValue(line, f"{what} must be a whole number")
    return value


def _flag(value: object, what: str, line: int) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(line, f"{what} must be true or false")
    return value


def _terms(value: object, what: str, line: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise InvalidValue(line, f"{what} must be a list of at most {MAX_ENTRIES} words or phrases")
    return tuple(_text(item, f"an entry of {what}", line) for item in value)


def _point_kind(value: Any, _what: str, line: int) -> PointKind:
    if value not in tuple(PointKind):
        kinds = ", ".join(PointKind)
        raise InvalidValue(line, f"a key point's kind must be one of {kinds}, not {_shown(value)}")
    return PointKind(value)


# What reads a field of a dataclass, by the type of the field.
_READERS: dict[Any, Callable[[Any, str, int], Any]] = {
    str: _text,
    int: _whole,
    bool: _flag,
    tuple[str, ...]: _terms,
    PointKind: _point_kind,
}


def _value(value: object, name: str, line: int) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidValue(line, f"values of '{name}' must be numbers or texts")
    if isinstance(value, str):
        if len(value) > MAX_TERM:
            raise InvalidValue(line, f"a value of '{name}' is longer than {MAX_TERM} characters")
        try:
            value = float(value)  # YAML 1.1 reads 1e9 as a text
        except ValueError:
            return str(value)
    if not abs(value) <= MAX_NUMBER:  # "not <=" rather than ">", to refuse NaN as well
        raise InvalidValue(line, f"a value of '{name}' is not a finite number below {MAX_NUMBER:g}")
    return value


def _shape_problems(question: Question) -> Iterator[str]:
    """Check rules about several values, each of which is valid on its own."""
    entries: dict[str, tuple[object, ...]] = {
        "key_points": question.key_points if question.kind == QuestionKind.RECALL else (),
        "options": question.options,
        "steps": question.steps,
    }
    if not question.key_points:
        del entries["key_points"]  # which only the short form may lack
    for key, count in ((key, len(entries[key])) for key in entries if key in BY_KIND[question.kind][0]):
        fewest, most = COUNTS[key]
        if not fewest <= count <= most:
            noun = key.replace("_", " ")
            yield f"has {count} {noun}; {fewest} to {most} are wanted"
    if question.kind == QuestionKind.CHOICE and sum(option.right for option in question.options) != 1:
        yield "exactly one option must have 'right: true'"
    if len(set(question.steps)) < len(question.steps):
        yield "two steps read the same; tell them apart"
    if question.kind == QuestionKind.CLOZE:
        if question.text.count("[[") > MAX_GAPS:
            yield f"'text' has more than {MAX_GAPS} gaps; split it"
        elif not GAP.search(question.text):
            yield "'text' has no gap; write one as [[answer]]"
        elif any(not forms[0] for forms in gaps(question)):
            yield "a gap is empty; write [[answer]]"
