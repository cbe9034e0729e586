"""Settings as text: the commented file, and single values as the screen shows and reads them."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.settings.checks import WrongValue
from quizapp.settings.model import (
    BY_KEY,
    DEFAULTS,
    SCHEMA,
    Choice,
    Setting,
    check_plan,
    unknown_setting,
)
from quizapp.util.atomic import write_atomic

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Value = Choice | tuple[str, ...]
"""A value of a setting; tables are edited in the file only."""
PlanValue = date | float | str | list[str] | None
"""A value of a key in ``[plan]``; None removes the key."""


def begin_file(path: Path, key_lines: Iterable[str]) -> None:
    """Create a commented file of defaults unless a file exists. Raises ``QuizError``.

    ``key_lines`` are the lines of ``[keys]`` with the keys in force, one for each action.
    """
    if path.exists():
        return
    try:
        write_atomic(path, _template(key_lines))
    except OSError as error:
        raise QuizError(f"The settings file {path} cannot be written ({error.strerror}).") from error


def write_setting(path: Path, key: str, value: Value | list[str]) -> None:
    """Set one key and keep everything else in the file, comments included.

    Raises ``QuizError`` for an unknown key, a wrong value or a file that cannot be written.
    """
    if key not in BY_KEY:
        raise QuizError(unknown_setting(key))
    plain = list(value) if isinstance(value, tuple) else value
    try:
        BY_KEY[key].check(plain)
    except WrongValue as wrong:
        raise QuizError(f"{key} must be {wrong}, not {plain!r}.") from wrong

    def change(document: "TOMLDocument") -> None:
        document[key] = plain

    _edit(path, change)


def write_plan(path: Path, values: Mapping[str, PlanValue]) -> None:
    """Set keys of ``[plan]``, remove those that are None, and keep everything else, comments included.

    Raises ``QuizError`` like `write_setting`.
    """
    for key, value in values.items():
        if value is not None:
            check_plan(key, value)

    def change(document: "TOMLDocument") -> None:
        from tomlkit import table

        plan = document.setdefault("plan", table())
        for key, value in values.items():
            if value is not None:
                plan[key] = value
            elif key in plan:
                del plan[key]

    _edit(path, change)


def _edit(path: Path, change: "Callable[[TOMLDocument], None]") -> None:
    import tomlkit  # 30 ms, only for writing
    from tomlkit.exceptions import ParseError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
        change(document)
        write_atomic(path, tomlkit.dumps(document))
    except (OSError, UnicodeDecodeError) as error:
        raise QuizError(f"The settings file {path} cannot be written ({error}).") from error
    except ParseError as error:
        raise QuizError(f"{path}: not valid TOML: {error}.") from error


def _template(key_lines: Iterable[str]) -> str:
    parts = ["# Settings of quizapp. Edit them here or in the program; a wrong value is named by its line."]
    for setting in on_screen():
        choices = ", ".join(_toml(choice) for choice in setting.choices if not isinstance(choice, bool))
        lines = [setting.help, *([f"Such as {choices}."] if choices else [])]
        default = _toml(getattr(DEFAULTS, setting.key))
        parts.append("\n".join([*(f"# {line}" for line in lines), f"{setting.key} = {default}"]))
    parts.append(
        "# Your interview and your time, for the plan: remove the # and put in your own.\n"
        '# [plan]\n# date = 2026-12-24\n# role = "research-engineer"\n# minutes = 45\n# days_off = ["sun"]\n'
        "# sat = 90\n# target = 0.85"
    )
    parts.append(
        "# A language model on this machine that also reads typed answers, as a second voice.\n"
        '# [voice]\n# endpoint = "http://127.0.0.1:11434/v1"\n# model = "qwen3:8b"'
    )
    head = "# Your own keys: remove the # from [keys] and from the lines to be changed.\n# [keys]"
    parts.append("\n".join([head, *(f"# {line}" for line in key_lines)]))
    return "\n\n".join(parts) + "\n"


def _toml(value: Value) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def on_screen() -> tuple[Setting, ...]:
    """The settings that the screen shows, in its order."""
    return tuple(setting for setting in SCHEMA if setting.group)


def shown_value(setting: Setting, value: Value) -> str:
    """A value of a setting as the screen writes it, with its unit."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, tuple):
        return ", ".join(value) or setting.empty
    return f"{value}{setting.unit}" if value != "" else setting.empty


def typed_value(setting: Setting, text: str) -> Value:
    """Convert typed text to the setting's type. Raises ``ValueError`` if it does not fit."""
    kind = type(getattr(DEFAULTS, setting.key))
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    value: Value = kind(text.strip())
    return value


def next_choice(setting: Setting, value: Value, direction: int) -> Value:
    """The choice after (direction 1) or before (-1) ``value``; the nearest if ``value`` is not a choice."""
    choices = setting.choices
    if value in choices:
        return choices[(choices.index(value) + direction) % len(choices)]
    if isinstance(value, str | tuple):
        return choices[0]
    return min(choices, key=lambda choice: abs(float(choice) - float(value)))
