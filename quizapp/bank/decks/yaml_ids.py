"""Writes the ids of cards into their YAML file, one line each, without touching anything else in it."""

import codecs
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from quizapp.bank.yaml_loader import LINE, YAML_LOADER, parse_yaml
from quizapp.util.atomic import write_atomic


def insert_ids(path: Path, cards: list[Any], ids: Mapping[int, str]) -> bool:
    """Add an ``id`` to the cards at the places that ``ids`` names. Returns whether that was done.

    ``cards`` is what was read from the file. Nothing is written if the file is read-only, no longer holds
    just these cards, or is written in a way in which a line cannot simply be inserted.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        before = path.read_bytes()
        text = before.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    # The superuser may write to every file, and still should not write to one that is marked as read-only.
    if not mode & 0o222 or not os.access(path, os.W_OK) or not os.access(path.resolve().parent, os.W_OK):
        return False
    data = _parsed(text)
    if data is None or data.get("questions") != _plain(cards):
        return False
    changed = _with_ids(text, ids)
    for place, name in ids.items():
        data["questions"][place]["id"] = name
    if changed is None or _parsed(changed) != data:
        return False
    content = changed.encode()
    if before.startswith(codecs.BOM_UTF8):
        content = codecs.BOM_UTF8 + content
    try:
        if path.read_bytes() != before:
            return False
        write_atomic(path.resolve(), content, durable=True, mode=mode)
    except OSError:
        return False
    with suppress(OSError):
        if stat.S_IMODE(path.stat().st_mode) != mode:  # the umask narrowed it
            path.chmod(mode)
    return True


def _parsed(text: str) -> dict[str, Any] | None:
    data, fault = parse_yaml(text, "")
    return _plain(data) if fault is None and isinstance(data, dict) else None


def _plain(value: Any) -> Any:
    """A copy without line numbers, in which nothing is shared by an alias."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if key != LINE}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _with_ids(text: str, ids: Mapping[int, str]) -> str | None:
    """The text with an ``id`` before the first key of each card; None where that is not possible."""
    try:
        root: Any = yaml.compose(text, Loader=YAML_LOADER)
    except yaml.YAMLError:
        return None
    rows = next(value for key, value in root.value if key.value == "questions")
    places = []
    for place, name in ids.items():
        card = rows.value[place]
        if not isinstance(card, yaml.MappingNode) or not card.value:
            return None
        start = card.value[0][0].start_mark
        newline = "\r\n" if "\r\n" in text else "\n"
        places.append(
            (start.index, f"id: {name}" + (", " if card.flow_style else newline + " " * start.column))
        )
    for index, line in sorted(places, reverse=True):
        text = text[:index] + line + text[index:]
    return text
