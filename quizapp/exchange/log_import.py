"""Reads events and documents that another device wrote. Every field is checked before any is merged."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum

from quizapp.errors import QuizError
from quizapp.scheduling.events import TYPES, Event, EventType
from quizapp.scheduling.models.model import DEFAULT_MODEL
from quizapp.store.documents import MockDocument, Submission

# A later date comes from a broken clock, and an event can never be removed from the log again.
_LAST = datetime(2200, 1, 1, tzinfo=UTC)
_LAST_MS = int(_LAST.timestamp()) * 1000
_MOST_DAYS = 36_500
_TEXTS = frozenset(
    {"id", "device", "type", "card", "content", "ticks", "model", "source", "target", "parent", "data"}
)
_OPTIONAL = frozenset({"proposed", "rating", "seed", "confidence", "interval"})
_RANGES = {
    "stamp": (0, _LAST_MS),
    "time": (0, _LAST_MS),
    "offset": (-86_400, 86_400),
    "day": (date(1970, 1, 1).toordinal() - 1, _LAST.toordinal()),
    "interval": (0, _MOST_DAYS * 86_400),
    "ms": (0, 2**53),
    "hints": (0, 10_000),
    "proposed": (1, 4),
    "rating": (1, 4),
    "confidence": (0, 100),
}
_ANY = (-(2**63), 2**63 - 1)


class DocumentKind(StrEnum):
    """The only key of a line that contains a document."""

    SUBMISSION = "submission"
    MOCK = "mock"


Document = Submission | MockDocument


class LogLineError(QuizError):
    """A line is not a valid event or document. The message says why, without a subject."""


def read_object(line: str) -> dict[str, object]:
    """Parse the JSON object of a line. Raises `LogLineError`."""
    try:
        row = json.loads(line)
    except ValueError:
        raise LogLineError("is not JSON") from None
    except RecursionError:
        raise LogLineError("is nested too deeply") from None
    if not isinstance(row, dict):
        raise LogLineError("is not a JSON object")
    return row


def read_event(row: Mapping[str, object]) -> Event:
    """Read an event from a row as `Event._asdict` writes it. Raises `LogLineError`."""
    unknown = sorted(set(row) - set(Event._fields))
    if unknown:
        raise LogLineError(f"has a field {unknown[0]!r} that this version does not know")
    for name in Event._fields:
        if name not in row:
            raise LogLineError(f"lacks the field '{name}'")
        _check(name, row[name])
    event = Event._make(row[name] for name in Event._fields)
    if event.type not in TYPES:
        raise LogLineError(f"has the type {event.type!r} that this version does not know")
    if not event.id or not event.device:
        raise LogLineError("has no id or no device")
    if event.type == EventType.ANSWER and (event.rating is None or not event.card):
        raise LogLineError("is an answer without a card or a rating")
    if event.type in {EventType.UNDO, EventType.RENAME} and not event.target:
        raise LogLineError(f"is an event of type {event.type} without a target")
    _check_details(event)
    return event


def read_document(row: Mapping[str, object]) -> Document:
    """Read a submission or a finished interview from a row ``{kind: fields}``. Raises `LogLineError`."""
    ((kind, fields),) = row.items()
    if kind not in _FIELDS:
        raise LogLineError(f"holds {kind!r}, which this version does not know")
    types = _FIELDS[DocumentKind(kind)]
    if not isinstance(fields, dict) or set(fields) != set(types):
        raise LogLineError(f"is not a {kind} of this version")
    for name, value in fields.items():
        # Not isinstance, which would accept true as an int.
        good = type(value) in types[name]
        if not good or (isinstance(value, str) and not _encodes(value)):
            raise LogLineError(f"is a {kind} with a bad '{name}'")
    return Submission(**fields) if kind == DocumentKind.SUBMISSION else MockDocument(**fields)


_FIELDS: dict[DocumentKind, dict[str, tuple[type, ...]]] = {
    DocumentKind.SUBMISSION: {
        **dict.fromkeys(("slug", "status", "source", "event"), (str,)),
        **dict.fromkeys(("id", "time", "tests_passed", "tests"), (int,)),
        "passed": (bool,),
        "seconds": (int, float),
        "verdict": (dict,),
    },
    DocumentKind.MOCK: {
        **dict.fromkeys(("id", "state", "event"), (str,)),
        **dict.fromkeys(("created", "updated"), (int,)),
        "document": (dict,),
    },
}


def _check(name: str, value: object) -> None:
    if name in _TEXTS:
        if not isinstance(value, str) or not _encodes(value):
            raise LogLineError(f"has a '{name}' that is not text")
        shape = _JSON.get(name)
        if shape and value and not shape(value):
            raise LogLineError(f"has a '{name}' that cannot be read")
        return
    if value is None and name in _OPTIONAL:
        return
    low, high = _RANGES.get(name, _ANY)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise LogLineError(f"has a '{name}' that is out of range or not a number")


def _check_details(event: Event) -> None:
    """Check the parts of ``data`` that a replay reads: the weights of the model, and caps in days."""
    details = event.details
    if event.type == EventType.SETTINGS and "weights" in details and not _is_model(details):
        raise LogLineError("brings a memory model that this version does not know")
    caps = details.get("caps") or []
    if not isinstance(caps, list) or not all(type(days) is int and 1 <= days <= _MOST_DAYS for days in caps):
        raise LogLineError("has caps that are not numbers of days")


def _is_model(details: Mapping[str, object]) -> bool:
    weights = details["weights"]
    return (
        details.get("model") == DEFAULT_MODEL.name
        and isinstance(weights, list)
        and len(weights) == len(DEFAULT_MODEL.weights)
        and all(type(weight) in {int, float} and math.isfinite(weight) for weight in weights)
    )


def _encodes(text: str) -> bool:
    # SQLite cannot store a lone surrogate, and many of its functions stop at a NUL.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _is_json(kind: type) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return isinstance(json.loads(text), kind)
        except (ValueError, RecursionError):
            return False

    return check


_JSON = {"data": _is_json(dict), "ticks": _is_json(list)}
