"""Finds the files of cards in a folder."""

import itertools
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
    files = (path for path in folder.rglob("*") if _is_deck(path, folder) and path.is_file())
    return sorted(itertools.islice(files, MAX_FILES + 1))


def beside(deck: Path) -> Path:
    """The file beside a deck in which the ids of its cards are kept."""
    return deck.with_name(deck.name + IDS_SUFFIX)


def _is_deck(path: Path, folder: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES or any(part.startswith(".") for part in path.relative_to(folder).parts):
        return False
    return suffix not in MARKDOWN_SUFFIXES or path.stem.casefold() not in NO_DECKS
