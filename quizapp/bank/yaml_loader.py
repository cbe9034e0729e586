"""Reads plain YAML with line numbers: texts, numbers, lists and mappings. Everything else is a fault.

A deck may come from anyone. Tags and merge keys are therefore refused, and the depth and the amount of text
that aliases repeat are bounded. Values are built directly from the parser's events: PyYAML's own loader
builds a graph of nodes first, and crashes the process if a file is nested ten thousand levels deep.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from quizapp.bank.model import Fault

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

YAML_LOADER: Any = _Loader  # the type stubs lack most of the event interface
MAX_FILE_BYTES = 4 << 20
MAX_DEPTH = 20
MAX_REPEATED = 100_000  # characters and values that aliases repeat
LINE = "__line__"
_MAX_DIGITS = 310
_TAG = "tag:yaml.org,2002:"


class _Problem(Exception):
    """A fault in the file, with its line."""

    def __init__(self, event: Any, message: str) -> None:
        super().__init__(message)
        self.line = _line(event)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _integer(text: str) -> int:
    """Parse an integer in YAML's spelling: decimal, octal with a leading 0, 0x or 0b."""
    digits = text.replace("_", "")
    unsigned = digits.lstrip("+-")
    if len(unsigned) > _MAX_DIGITS:
        raise ValueError
    octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned.isdigit()
    number = int(unsigned, 8 if octal else 10 if unsigned.isdigit() else 0)
    return -number if digits.startswith("-") else number


def _real(text: str) -> float:
    return float(text.replace("_", "").casefold().replace(".inf", "inf").replace(".nan", "nan"))


# Dates and times such as 2026-12-24 and 12:30 stay texts.
_SCALARS: dict[str, Callable[[str], object]] = {
    "str": str,
    "value": str,
    "timestamp": str,
    "null": lambda _: None,
    "bool": lambda text: text.casefold() in ("true", "yes", "on"),
    "int": lambda text: text if ":" in text else _integer(text),
    "float": lambda text: text if ":" in text else _real(text),
}


class _Builder:
    """Builds one value from a stream of parser events. Each mapping gets its line under `LINE`."""

    def __init__(self, text: str) -> None:
        self._loader = YAML_LOADER(text)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._weight = 0
        self._repeated = 0

    def document(self) -> Any:
        """Build the stream's only document; None if the stream is empty."""
        try:
            value = None
            self._loader.get_event()
            if not isinstance(self._loader.get_event(), yaml.StreamEndEvent):
                value = self._value(self._loader.get_event(), 0)
                self._loader.get_event()
                if not isinstance(last := self._loader.get_event(), yaml.StreamEndEvent):
                    raise _Problem(last, "a second document begins here; keep one per file")
            return value
        finally:
            self._loader.dispose()

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if depth > MAX_DEPTH:
            raise _Problem(event, f"more than {MAX_DEPTH} levels are nested here; flatten them")
        before, repeated = self._weight, self._repeated
        self._weight += 1
        if isinstance(event, yaml.ScalarEvent):
            self._weight += len(event.value)
            value = self._scalar(event)
        elif event.tag is not None:
            raise _Problem(event, f"the tag {event.tag[:40]!r} is not allowed; remove it")
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not isinstance(item := self._loader.get_event(), yaml.SequenceEndEvent):
                value.append(self._value(item, depth + 1))
        else:
            value = self._mapping(event, depth)
        if event.anchor:
            if self._repeated > repeated:  # otherwise every alias could add to the depth
                raise _Problem(event, f"the anchor '&{event.anchor}' holds an alias; write its text out")
            self._anchors[event.anchor] = value, self._weight - before
        return value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise _Problem(event, f"the alias '*{event.anchor}' has no anchor before it; write the text out")
        value, weight = self._anchors[event.anchor]
        self._weight += weight
        self._repeated += weight
        if self._repeated > MAX_REPEATED:
            raise _Problem(event, "aliases repeat too much text; write it out where it is needed")
        return value

    def _scalar(self, event: Any) -> object:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        make = _SCALARS.get(tag.removeprefix(_TAG)) if tag.startswith(_TAG) else None
        if make is None:
            what = "the merge key '<<'" if tag == f"{_TAG}merge" else f"the tag {tag[:40]!r}"
            raise _Problem(event, f"{what} is not allowed; write plain YAML")
        try:
            return make(event.value)
        except ValueError:
            raise _Problem(
                event, f"{event.value[:40]!r} is not a number that can be read; quote it"
            ) from None

    def _mapping(self, start: Any, depth: int) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        while not isinstance(event := self._loader.get_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _Problem(event, "only a word or a number can be a key; write one")
            key = self._scalar(event)
            if key == LINE:
                raise _Problem(event, f"the key '{LINE}' is reserved; choose another")
            if key in mapping:
                raise _Problem(event, f"the key {str(key)!r} is given twice; keep one")
            mapping[key] = self._value(self._loader.get_event(), depth + 1)
        mapping[LINE] = _line(start)
        return mapping


def read_text(path: Path, what: str) -> tuple[str, Fault | None]:
    """Read a file of UTF-8 text, ``what`` it should be. If that fails, return "" and the fault."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for its writer
            return "", Fault(str(path), 1, f"is not a regular file; name {what}")
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            limit = f"{MAX_FILE_BYTES >> 20} MB is the limit"
            return "", Fault(str(path), 1, f"is {size >> 20} MB; split it, {limit}")
        return path.read_text(encoding="utf-8-sig"), None
    except UnicodeDecodeError as error:
        return "", Fault(str(path), 1, f"is not UTF-8 at byte {error.start}; save it as UTF-8")
    except OSError as error:
        return "", Fault(str(path), 1, f"cannot be read: {error.strerror}")


def read_yaml(path: Path) -> tuple[Any, Fault | None]:
    """Read a YAML file, with each mapping's line under `LINE`. If it is faulty, return None and the fault."""
    text, fault = read_text(path, "a YAML file")
    return (None, fault) if fault is not None else parse_yaml(text, str(path))


def parse_yaml(text: str, file: str) -> tuple[Any, Fault | None]:
    """Like `read_yaml`, for the text of a file."""
    try:
        return _Builder(text).document(), None
    except _Problem as problem:
        return None, Fault(file, problem.line, f"is not plain YAML: {problem}")
    except yaml.YAMLError as error:
        return None, _yaml_fault(file, text, error)


def _yaml_fault(file: str, text: str, error: yaml.YAMLError) -> Fault:
    line, problem = 1, str(error).splitlines()[0]
    if isinstance(error, yaml.MarkedYAMLError):
        problem = error.problem or problem
        line = error.problem_mark.line + 1 if error.problem_mark else 1
    elif isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        problem = "a control character is not allowed here; remove it"
    lines = text.splitlines()
    if 0 < line <= len(lines) and "\t" in lines[line - 1]:
        problem = "a tab is used for indentation; use spaces"
    elif "mapping values are not allowed" in problem:
        problem += "; quote a text that contains ': '"
    return Fault(file, line, f"is not valid YAML: {problem}")
