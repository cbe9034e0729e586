"""Checks of single values in the settings file."""

from collections.abc import Callable
from datetime import date, datetime


class WrongValue(Exception):
    """An invalid value of a setting; the text says what the value must be."""


def number(low: float, high: float) -> Callable[[object], float]:
    """A check for a number from ``low`` to ``high``."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise WrongValue(f"a number from {low} to {high}")
        return float(value)

    return check


def whole(low: int, high: int) -> Callable[[object], int]:
    """A check for a whole number from ``low`` to ``high``."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise WrongValue(f"a whole number from {low} to {high}")
        return value

    return check


def text(value: object) -> str:
    """A text. Raises `WrongValue`."""
    if not isinstance(value, str):
        raise WrongValue("text in quotes")
    return value


def one_of(*choices: str) -> Callable[[object], str]:
    """A check for one of a few texts."""

    def check(value: object) -> str:
        if value not in choices:
            raise WrongValue(f"one of {', '.join(choices)}")
        return str(value)

    return check


def switch(value: object) -> bool:
    """True or false. Raises `WrongValue`."""
    if not isinstance(value, bool):
        raise WrongValue("true or false")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of texts. Raises `WrongValue`."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise WrongValue('a list of texts such as ["a", "b"]')
    return tuple(value)


def day(value: object) -> date:
    """A day, as TOML's own date or as text. Raises `WrongValue`."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    elif isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise WrongValue("a day such as 2026-12-24")


def table_of(check: Callable[[object], object], what: str) -> Callable[[object], dict[str, object]]:
    """A check for a table whose values all pass ``check``."""

    def check_all(value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise WrongValue(f"a table of {what}")
        return {name: check(item) for name, item in value.items()}

    return check_all
