"""The settings file as the interface writes it: begun with comments, changed key by key."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.settings.model import write_setting
from quizapp.tui import theme
from quizapp.tui.settings_schema import template

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp


def begin(path: Path) -> None:
    """Write a commented file of defaults where there is none. Raises `QuizError`."""
    if path.exists():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template(), encoding="utf-8")
    except OSError as error:
        raise QuizError(f"The settings file {path} cannot be written ({error.strerror}).") from error


def put(key: str, value: Any) -> None:
    """Set one key of the user's file; comments stay. Raises `QuizError` where it cannot be written."""
    begin(paths.config())
    write_setting(paths.config(), key, value)


def next_theme(app: "QuizApp") -> None:
    """Take the next of our themes and keep it; where the file cannot be written, until the program ends."""
    if theme.without_colour():
        app.say("NO_COLOR is set, so every theme looks the same.")
        return
    order = [ours.name for ours in theme.OURS]
    name = order[(order.index(app.theme) + 1) % len(order)] if app.theme in order else order[0]
    setting = theme.setting_of(name)
    problem = ""
    try:
        put("theme", setting)
    except QuizError as error:
        problem = str(error)
    if app.study_or_none is not None:
        app.study.settings = replace(app.study.settings, theme=setting)
    app.use_theme(setting)
    if problem:
        app.say(f"Theme: {name}, until you leave. {problem}", bad=True)
    else:
        app.say(f"Theme: {name}, kept in the settings.")
