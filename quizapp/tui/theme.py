"""Themes: the only place that names a color."""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.theme import BUILTIN_THEMES, Theme

from quizapp import paths
from quizapp.errors import QuizError

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp

DARK = Theme(
    name="dark", dark=True,
    primary="#7aa2f7", secondary="#7dcfff", accent="#e0af68",
    success="#9ece6a", warning="#ff9e64", error="#f7768e",
    foreground="#d5daf0", background="#16161e", surface="#1c1d29", panel="#262838",
    variables={
        "box": "#3f4462", "text-muted": "#959cbd", "text-disabled": "#7c83a3",
        "block-cursor-background": "#3b4261", "block-cursor-foreground": "#ffffff",
    },
)  # fmt: skip
LIGHT = Theme(
    name="light", dark=False,
    primary="#2457b3", secondary="#0e6f86", accent="#8a4b00",
    success="#2f6f1f", warning="#a04000", error="#b3143c",
    foreground="#1f2430", background="#fbfaf6", surface="#f1efe7", panel="#e4e1d6",
    variables={
        "box": "#b9b4a4", "text-muted": "#5d6270", "text-disabled": "#767b88",
        "block-cursor-background": "#c9d7f2", "block-cursor-foreground": "#10131a",
    },
)  # fmt: skip
CONTRAST = Theme(
    name="contrast", dark=True,
    primary="#66ccff", secondary="#00ffff", accent="#ffff00",
    success="#00ff66", warning="#ffcc00", error="#ff8080",
    foreground="#ffffff", background="#000000", surface="#000000", panel="#1a1a1a",
    text_alpha=1.0,
    variables={
        "box": "#ffffff", "text-muted": "#e0e0e0", "text-disabled": "#c0c0c0",
        "block-cursor-background": "#ffff00", "block-cursor-foreground": "#000000",
        "block-cursor-blurred-background": "#ffff00", "block-cursor-blurred-foreground": "#000000",
        "hint-style": "not bold",
    },
)  # fmt: skip
for _theme in (DARK, LIGHT, CONTRAST):
    _theme.variables |= {
        "scrollbar": _theme.variables["box"],
        "scrollbar-hover": _theme.primary,
        "scrollbar-active": _theme.primary,
        **dict.fromkeys(
            ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active",
             "scrollbar-corner-color"),
            _theme.background or "",
        ),
    }  # fmt: skip
# Blue, red and magenta are hard to read on a black console, so cyan and brighter shades replace them.
# Hints are not dimmed, because dim text is unreadable in the terminal's own grays and on the selected row.
_BARS = ("scrollbar", "scrollbar-hover", "scrollbar-active")
_ANSI_DARK = BUILTIN_THEMES["ansi-dark"]
ANSI_DARK = replace(
    _ANSI_DARK,
    primary="ansi_cyan", secondary="ansi_cyan", accent="ansi_bright_magenta", error="ansi_bright_red",
    variables=_ANSI_DARK.variables | dict.fromkeys(_BARS, "ansi_cyan") | {"hint-style": "not bold"},
)  # fmt: skip
_ANSI_LIGHT = BUILTIN_THEMES["ansi-light"]
ANSI_LIGHT = replace(
    _ANSI_LIGHT,
    variables=_ANSI_LIGHT.variables | dict.fromkeys(_BARS, "ansi_bright_black") | {"hint-style": "not bold"},
)
OURS = (DARK, LIGHT, CONTRAST, ANSI_DARK, ANSI_LIGHT)
NAMES = ("dark", "light", "contrast", "ansi", "ansi-light")


def without_color() -> bool:
    """Whether the user asked for no color (``NO_COLOR``), so that weight and shape must carry the meaning."""
    return "NO_COLOR" in os.environ


def is_available(setting: str, available: frozenset[str]) -> bool:
    """Whether a setting names an existing theme or is empty."""
    return setting in {"", "ansi"} or setting in available


def choose(setting: str, available: frozenset[str], scheme: str = "dark") -> str:
    """The theme for a setting; if it names none, one that suits the terminal, in a known ``scheme``."""
    if without_color():
        return "ansi-dark"
    name = {"ansi": "ansi-dark"}.get(setting, setting)
    if name in available:
        return name
    term = os.environ.get("TERM", "")
    few = term in {"linux", "vt100", "xterm", "screen", "ansi", "cygwin"} or term.endswith("-16color")
    return "ansi-dark" if few and not os.environ.get("COLORTERM") else scheme


def setting_of(name: str) -> str:
    """The setting that selects a theme of ours; the inverse of `choose`."""
    return {"ansi-dark": "ansi"}.get(name, name)


def needs_ascii() -> bool:
    """Whether the terminal's encoding is limited to ASCII; ``QUIZAPP_ASCII`` (0 or 1) overrides it."""
    forced = os.environ.get("QUIZAPP_ASCII", "")
    if forced:
        return forced != "0"
    stream = sys.__stdout__
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
    return "utf" not in encoding


def next_theme(app: "QuizApp") -> None:
    """Switch to the next theme and save it; if the file is not writable, it lasts until the program ends."""
    from quizapp.settings.file import begin_file, write_setting
    from quizapp.tui import actions

    if without_color():
        app.say("NO_COLOR is set, so every theme looks the same.")
        return
    order = [ours.name for ours in OURS]
    name = order[(order.index(app.theme) + 1) % len(order)] if app.theme in order else order[0]
    setting = setting_of(name)
    problem = ""
    try:
        begin_file(paths.config(), actions.key_lines())
        write_setting(paths.config(), "theme", setting)
    except QuizError as error:
        problem = str(error)
    if app.study_or_none is not None:
        app.study.settings = replace(app.study.settings, theme=setting)
    app.use_theme(setting)
    if problem:
        app.say(f"Theme: {name}, until you leave. {problem}", bad=True)
    else:
        app.say(f"Theme: {name}, kept in the settings.")
