"""Reads typed values from YAML mappings, and reports faults with file and line."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from quizapp.bank.model import Fault
from quizapp.bank.yaml_loader import LINE
from quizapp.util.suggest import did_you_mean

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
