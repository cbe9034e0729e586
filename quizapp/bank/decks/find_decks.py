"""Finds the files of cards in a folder."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

MAX_FILES = 1000
"""Of one folder, in case somebody names a whole disk."""
YAML_SUFFIXES = (".yaml", ".yml")
MARKDOWN_SUFFIXES = (".md", ".markdown")
TABLE_SUFFIXES = (".csv", ".tsv")
SUFFIXES = (*YAML_SUFFIXES, *MARKDOWN_SUFFIXES, *TABLE_SUFFIXES)
IDS_SUFFIX = ".ids.json"
NO_DECKS = frozenset(
    {"readme", "license", "licence", "changelog", "contributing", "code_of_conduct", "security", "notice"}
)
"""Markdown files of these names are about a folder rather than part of it."""


def deck_files(folder: Path) -> list[Path]:
    """List the files of cards below ``folder``, sorted; at most one more than `MAX_FILES`.

    Hidden folders and files are left out, and Markdown files that every repository has.
    """
    return sorted(itertools.islice(_walk(folder), MAX_FILES + 1))


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        # Pruned before they are entered: a version control's folder may hold thousands of files.
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(place, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if _is_deck(path) and path.is_file())


def beside(deck: Path) -> Path:
    """The file beside a deck in which the ids of its cards are kept."""
    return deck.with_name(deck.name + IDS_SUFFIX)


def _is_deck(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix in MARKDOWN_SUFFIXES:
        return path.stem.casefold() not in NO_DECKS
    return suffix in SUFFIXES
