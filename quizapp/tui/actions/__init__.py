"""Every action of the interface in one table. Bindings, key bar, palette and help are made from it."""

from collections.abc import Iterable, Mapping
from functools import cache

from textual.binding import Binding

from quizapp.tui.actions.act import KEPT_BY_BROWSERS, Act, PlaceActions, display, override
from quizapp.tui.actions.interview_places import INTERVIEW_PLACES
from quizapp.tui.actions.phase import Phase
from quizapp.tui.actions.places import PLACES
from quizapp.tui.actions.review_places import REVIEW_PLACES
from quizapp.tui.actions.rows import ANSWER, INCIDENT, REVIEWING, UNTYPED

__all__ = [
    "ANSWER",
    "INCIDENT",
    "REVIEWING",
    "TABLE",
    "UNTYPED",
    "Act",
    "Phase",
    "PlaceActions",
    "browser_keys",
    "display",
    "name_keys",
    "override",
]

TABLE: Mapping[str, PlaceActions] = {**PLACES, **REVIEW_PLACES, **INTERVIEW_PLACES}
"""By place. Do not rename places or actions: users' settings files refer to them to override keys."""


@cache
def of_place(place: str) -> tuple[Act, ...]:
    """The actions of a place, in the order of the table; none for an unknown place."""
    return tuple(act._replace(place=place) for act in TABLE[place].acts) if place in TABLE else ()


def key_lines() -> list[str]:
    """The lines of ``[keys]`` in a new settings file: one line per action with its default keys."""
    return [f'"{act.id}" = "{act.keys}"  # {act.help}' for place in TABLE for act in of_place(place)]


def browser_keys(user_keys: Mapping[str, str]) -> dict[str, str]:
    """The user's keys, and another key for each action whose key a browser keeps.

    The first key stays, because a browser window without tabs passes it on.
    """
    keys = dict(user_keys)
    for act in (act for place in TABLE for act in of_place(place)):
        bound = keys.get(act.id, act.keys).split(",")
        if any(key.strip() in KEPT_BY_BROWSERS for key in bound):
            added = (f"{KEPT_BY_BROWSERS[key.strip()]},{key}" if key.strip() in KEPT_BY_BROWSERS else key
                     for key in bound)  # fmt: skip
            keys[act.id] = ",".join(added)
    return keys


def name_keys(sentence: str) -> str:
    """A sentence that names keys, with those that work where the app runs."""
    for kept, instead in KEPT_BY_BROWSERS.items():
        if is_bound(instead):
            sentence = sentence.replace(kept, instead)
    return sentence


def phases(place: str) -> tuple[Phase, ...]:
    """The phases of a place."""
    return TABLE[place].phases


def live(place: str, phase: Phase | None) -> list[Act]:
    """The actions that exist in a phase of a place, followed by those of the app itself."""
    return [*(act for act in of_place(place) if place != "app" and act.alive(phase)), *of_place("app")]


def bindings(place: str, *also: str) -> list[Binding]:
    """Textual's bindings of a place, and of the app's actions ``also``, which a dialog would hide."""
    from_app = [(act.call, act) for act in of_place("app") if act.action in also]
    return [
        Binding(act.keys, call, act.label or act.help, show=False, priority=act.priority, id=act.id)
        for call, act in [*((act.action, act) for act in of_place(place)), *from_app]
    ]


def is_bound(key: str) -> bool:
    """Whether any action has a key, which the user may have given it."""
    return any(key in act.key_list() for place in TABLE for act in of_place(place))


def unknown(names: Iterable[str]) -> list[str]:
    """Those of the names that belong to no action."""
    ids = {act.id for place in TABLE for act in of_place(place)}
    return [name for name in names if name not in ids]
