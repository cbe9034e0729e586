"""The user's settings: one TOML file, every key with a default, wrong values named by file and line."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from quizapp.errors import QuizError
from quizapp.util.atomic import write_atomic
from quizapp.util.suggest import did_you_mean

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class PlanSettings(NamedTuple):
    """The table ``[plan]``: minutes a day (0: by the learner's pace), those of single weekdays, and a target.

    ``weekdays`` maps 0 (Monday) to 6 to minutes, 0 for a day off. ``target`` is the share to be recalled on
    the day of the interview.
    """

    minutes: int = 0
    target: float = 0.85
    weekdays: Mapping[int, int] = MappingProxyType({})


NO_PLAN = PlanSettings()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user may choose; the defaults are used without a file.

    ``retention`` overrides ``desired_retention`` for the decks named by folder. ``keys`` maps actions
    to keys, for the interface. ``plan`` says how much time there is until an interview.
    """

    desired_retention: float = 0.90
    new_per_day: int = 20
    reviews_per_day: int = 200
    rollover_hour: int = 4
    max_interval_days: int = 36500
    leech_lapses: int = 8
    decks: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    retention: Mapping[str, float] = field(default_factory=dict)
    editor: str = ""
    theme: str = ""
    confidence: bool = False
    typed_answers: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    plan: PlanSettings = NO_PLAN

    def retention_for(self, file: str) -> float:
        """Desired retention of a question, by the deck folder in which its file lies."""
        if not self.retention:
            return self.desired_retention
        path = Path(file)
        for deck, value in self.retention.items():
            if path.is_relative_to(Path(deck).expanduser()):
                return value
        return self.desired_retention


class _Wrong(Exception):
    """What a value should have been; ``key`` and ``value`` where it stands within a table."""

    def __init__(self, what: str, key: str = "", value: Any = None) -> None:
        super().__init__(what)
        self.key, self.value = key, value


class _Unknown(_Wrong):
    """A key that a table does not know."""


def _number(low: float, high: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise _Wrong(f"a number from {low} to {high}")
        return float(value)

    return check


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _Wrong(f"a whole number from {low} to {high}")
        return value

    return check


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong("text in quotes")
    return value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Wrong('a list of texts such as ["a", "b"]')
    return tuple(value)


def _table(check: Callable[[Any], Any], what: str) -> Callable[[Any], dict[str, Any]]:
    def check_all(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Wrong(f"a table of {what}")
        return {name: check(item) for name, item in value.items()}

    return check_all


def _plan(value: Any) -> PlanSettings:
    if not isinstance(value, dict):
        raise _Wrong("a table such as [plan] with minutes = 30")
    for key, inner in value.items():
        if key not in _PLAN_CHECKS:
            raise _Unknown(f"a table of {', '.join(_PLAN_CHECKS)}", key)
        try:
            _PLAN_CHECKS[key](inner)
        except _Wrong as wrong:
            raise _Wrong(str(wrong), key, inner) from wrong
    weekdays = {number: value[name] for number, name in enumerate(WEEKDAYS) if name in value}
    weekdays |= {WEEKDAYS.index(name): 0 for name in value.get("days_off", ())}
    plain = {key: value[key] for key in ("minutes", "target") if key in value}
    return PlanSettings(weekdays=weekdays, **plain)


def _days(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not set(map(str, value)) <= set(WEEKDAYS):
        raise _Wrong(f'a list of days such as ["sat", "sun"], out of {", ".join(WEEKDAYS)}')
    return tuple(value)


MOST_MINUTES = 720
_PLAN_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "minutes": _whole(1, MOST_MINUTES),
    "target": _number(0.05, 0.99),
    "days_off": _days,
    **dict.fromkeys(WEEKDAYS, _whole(0, MOST_MINUTES)),
}
_RETENTION = _number(0.70, 0.97)
CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "desired_retention": _RETENTION,
    "new_per_day": _whole(0, 9999),
    "reviews_per_day": _whole(0, 9999),
    "rollover_hour": _whole(0, 23),
    "max_interval_days": _whole(1, 36500),
    "leech_lapses": _whole(2, 99),
    "decks": _texts,
    "tracks": _texts,
    "retention": _table(_RETENTION, "deck folders and numbers from 0.7 to 0.97"),
    "editor": _text,
    "theme": _text,
    "confidence": _switch,
    "typed_answers": _switch,
    "keys": _table(_text, "actions and keys"),
    "plan": _plan,
}
assert set(CHECKS) == {known.name for known in fields(Settings)}


def load_settings(path: Path) -> Settings:
    """Read the settings; the defaults where there is no file.

    Raises ``QuizError`` naming file and line where the TOML or a value is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise QuizError(f"The settings file {path} cannot be read ({error}).") from error
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise QuizError(f"{path}: not valid TOML: {error}.") from error
    values = {}
    for key, value in found.items():
        where = f"{path}:{_line(text, key)}"
        if key in _PLAN_CHECKS:
            raise QuizError(f"{where}: {key!r} is a setting of [plan]; write it below a line [plan].")
        if key not in CHECKS:
            raise QuizError(f"{where}: there is no setting {key!r}{_closest(key)}")
        try:
            values[key] = CHECKS[key](value)
        except _Unknown as unknown:
            where, known = f"{path}:{_line(text, unknown.key, key)}", _closest(unknown.key, _PLAN_CHECKS)
            if unknown.key in CHECKS:
                known = f"; write it above the line [{key}]."
            raise QuizError(f"{where}: there is no setting {unknown.key!r} in [{key}]{known}") from unknown
        except _Wrong as wrong:
            bad = wrong.value if wrong.key else value
            if wrong.key:
                where = f"{path}:{_line(text, wrong.key, key)}"
            raise QuizError(f"{where}: {wrong.key or key} must be {wrong}, not {bad!r}.") from wrong
    return Settings(**values)


def write_setting(path: Path, key: str, value: Any) -> None:
    """Set one key and keep everything else in the file, comments included.

    Raises ``QuizError`` for an unknown key, a wrong value or a file that cannot be written.
    """
    if key not in CHECKS:
        raise QuizError(f"There is no setting {key!r}{_closest(key)}")
    plain = list(value) if isinstance(value, tuple) else value
    try:
        CHECKS[key](plain)
    except _Wrong as wrong:
        raise QuizError(f"{key} must be {wrong}, not {plain!r}.") from wrong
    import tomlkit  # 30 ms, only for writing
    from tomlkit.exceptions import ParseError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
        document[key] = plain
        write_atomic(path, tomlkit.dumps(document))
    except (OSError, UnicodeDecodeError) as error:
        raise QuizError(f"The settings file {path} cannot be written ({error}).") from error
    except ParseError as error:
        raise QuizError(f"{path}: not valid TOML: {error}.") from error


def place_of(path: Path, key: str) -> str:
    """``file:line`` of a setting, for a sentence about its value."""
    try:
        return f"{path}:{_line(path.read_text(encoding='utf-8'), key)}"
    except (OSError, UnicodeDecodeError):
        return str(path)


def _line(text: str, key: str, table: str = "") -> int:
    """The line on which a top-level key or table, or a key of ``table``, stands; 1 where it is not found."""
    start = _line(text, table) if table else 1
    for number, line in enumerate(text.splitlines()[start - 1 :], start):
        head = line.strip().lstrip("[").split("=")[0].split("]")[0].split(".")[0].strip().strip("\"'")
        whole = line.split("=")[0].strip().strip("\"'")  # a quoted name may hold dots
        if key in {head, whole}:
            return number
    return start


def _closest(key: str, known: Iterable[str] = CHECKS) -> str:
    """The end of a sentence about an unknown key."""
    return "; " + did_you_mean(key, known, f"the settings are {', '.join(known)}.", most=1)
