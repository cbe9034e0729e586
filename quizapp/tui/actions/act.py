"""What an action is: its keys, its texts, and the phases of a place in which it exists."""

from collections.abc import Mapping
from typing import NamedTuple

from quizapp.tui.actions.phase import Phase

FIELDS = frozenset({Phase.TYPING, Phase.FIND, Phase.CODING, Phase.TELLING, Phase.SCRIPT})
"""Phases in which a focused field may swallow printable keys."""

KEPT_BY_BROWSERS = {"ctrl+n": "alt+n", "ctrl+t": "alt+t", "ctrl+w": "alt+w"}
"""Keys that a browser uses for its windows and tabs, whatever a page says, and what replaces them there."""

_overrides: dict[str, str] = {}


class Act(NamedTuple):
    """One action of a place: the method it calls, its keys and texts, and the phases in which it exists.

    ``when`` lists these phases; empty means all. ``rank`` decides what stays in the key bar if room is short
    (0: never shown, 1: the first to go). A ``priority`` key reaches the screen even while a field has the
    focus. ``place`` is filled in by `of_place`.
    """

    action: str
    keys: str
    label: str
    help: str
    when: tuple[Phase, ...] = ()
    rank: int = 0
    priority: bool = False
    place: str = ""

    @property
    def id(self) -> str:
        """The name of the action in the user's ``[keys]`` settings."""
        return f"{self.place}.{self.action.replace('(', '-').replace(')', '')}"

    @property
    def call(self) -> str:
        """The action in the form that Textual can call from anywhere, such as ``screen.undo``."""
        return f"{'app' if self.place == 'app' else 'screen'}.{self.action}"

    def alive(self, phase: Phase | None) -> bool:
        """Whether the action exists in a phase."""
        return not self.when or phase in self.when

    def reachable(self, phase: Phase | None) -> bool:
        """Whether one of its keys works in a phase: a focused field swallows printable keys."""
        return self.alive(phase) and (phase not in FIELDS or any(map(_passes_field, self.key_list())))

    def key_for(self, phase: Phase | None) -> str:
        """The key to show in a phase: the first one that works there."""
        keys = self.key_list()
        return next(filter(_passes_field, keys), keys[0]) if phase in FIELDS else keys[0]

    def key_list(self) -> tuple[str, ...]:
        """The current keys: the user's if the settings replace them, otherwise those of the table."""
        return tuple(key.strip() for key in _overrides.get(self.id, self.keys).split(",") if key.strip())


class PlaceActions(NamedTuple):
    """A screen: its title in palette and help, its phases, a sentence about it, and its actions."""

    title: str
    phases: tuple[Phase, ...]
    about: str
    acts: tuple[Act, ...]


def _passes_field(key: str) -> bool:
    # A text field uses up every printable key, so only modified and special keys get past it.
    return "+" in key or key in {"escape", "tab"} or (key.startswith("f") and key[1:].isdigit())


def override(user_keys: Mapping[str, str]) -> dict[str, str]:
    """Replace keys by the user's own, such as ``{"drill.undo": "z"}``; return Textual's keymap."""
    _overrides.clear()
    _overrides.update(user_keys)
    return dict(_overrides)


_DISPLAY = {
    "escape": "esc", "question_mark": "?", "slash": "/", "comma": ",", "underscore": "_", "pageup": "pgup",
    "pagedown": "pgdn", "up": "↑", "down": "↓", "left": "←", "right": "→",
}  # fmt: skip


def display(key: str) -> str:
    """A key as the key bar writes it."""
    *modifiers, name = key.split("+")
    short = {"ctrl": "^", "shift": "shift+", "alt": "alt+"}
    return "".join(short.get(part, part) for part in modifiers) + _DISPLAY.get(name, name)
