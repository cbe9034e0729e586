"""The settings as data: what the screen shows and how each is changed."""

import json
from dataclasses import dataclass
from typing import Any

from quizapp.settings.model import Settings
from quizapp.tui.actions import of_place, places


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``choices`` are cycled through; without them a value is typed."""

    key: str
    group: str
    title: str
    help: str
    choices: tuple[Any, ...] = ()
    kind: type = str
    unit: str = ""
    empty: str = "automatic"


SCHEMA = (
    Setting("desired_retention", "Schedule", "Desired retention",
            "The chance of recall at which a card falls due. 0.90 suits most; more means more reviews.",
            (0.80, 0.85, 0.88, 0.90, 0.92, 0.94, 0.95), float),
    Setting("new_per_day", "Schedule", "New cards per day",
            "How many cards not yet seen are shown each day.", (0, 5, 10, 15, 20, 30, 40, 60, 100), int),
    Setting("reviews_per_day", "Schedule", "Reviews per day",
            "At most so many due cards each day.", (50, 100, 150, 200, 300, 500, 9999), int),
    Setting("rollover_hour", "Schedule", "The day begins at",
            "Hour of local time at which a new study day begins.", (0, 1, 2, 3, 4, 5, 6), int, ":00"),
    Setting("max_interval_days", "Schedule", "Longest interval",
            "No card is put off longer.", (30, 60, 90, 180, 365, 1000, 36500), int, " days"),
    Setting("leech_lapses", "Schedule", "Lapses of a leech",
            "A card forgotten so often is pointed out.", (4, 6, 8, 10, 12, 16), int),
    Setting("confidence", "Drill", "Ask for confidence",
            "Before the reveal, ask how sure you are; the statistics compare it with what was right.",
            (False, True), bool),
    Setting("typed_answers", "Drill", "Typed answers",
            "Offer a field for the answer in your own words; words that show a key point light up.",
            (False, True), bool),
    Setting("tracks", "Content", "Tracks",
            "Only questions of these tracks (names with commas; empty: all). Takes effect at the next start.",
            (), list, empty="all"),
    Setting("decks", "Content", "Your own decks",
            "Folders or files of questions (paths with commas). Takes effect at the next start.",
            (), list, empty="none"),
    Setting("editor", "Interface", "Editor",
            "The command for ctrl+o, such as nvim or code --wait; empty: VISUAL or EDITOR."),
    Setting("theme", "Interface", "Theme",
            "Colours; ansi uses those of the terminal.",
            ("", "dark", "light", "contrast", "ansi", "ansi-light")),
)  # fmt: skip
"""In the order of the screen. The keys table is edited in the file: it is a table of actions."""


def show(value: Any, setting: Setting) -> str:
    """A value of a setting as the screen writes it, with its unit."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or setting.empty
    return f"{value}{setting.unit}" if value != "" else setting.empty


def template() -> str:
    """A settings file with every setting at its default, explained."""
    parts = ["# Settings of quizapp. Edit them here or in the program; a wrong value is named by its line."]
    for setting in SCHEMA:
        value = getattr(Settings(), setting.key)
        choices = ", ".join(_toml(choice) for choice in setting.choices if setting.kind is not bool)
        lines = [setting.help, *([f"Such as {choices}."] if choices else [])]
        parts.append("\n".join([*(f"# {line}" for line in lines), f"{setting.key} = {_toml(value)}"]))
    parts.append(
        "# Time until an interview, for `quizapp plan`: take the # away and put in your own.\n"
        '# [plan]\n# minutes = 45\n# days_off = ["sun"]\n# sat = 90\n# target = 0.85'
    )
    own = [f'# "{act.id}" = "{act.keys}"  # {act.help}' for place in places() for act in of_place(place)]
    parts.append(
        "\n".join(
            ["# Your own keys: take the # from [keys] and from the lines to be changed.", "# [keys]", *own]
        )
    )
    return "\n\n".join(parts) + "\n"


def _toml(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def read(setting: Setting, text: str) -> Any:
    """A typed value; raises `ValueError` where it is no such thing."""
    if setting.kind is list:
        return [part.strip() for part in text.split(",") if part.strip()]
    return setting.kind(text.strip())


def step(setting: Setting, value: Any, direction: int) -> Any:
    """The next or former choice, starting from the nearest to ``value``."""
    choices = setting.choices
    if value in choices:
        return choices[(choices.index(value) + direction) % len(choices)]
    if setting.kind not in {int, float}:
        return choices[0]
    return min(choices, key=lambda choice: abs(float(choice) - float(value)))
