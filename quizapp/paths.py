"""Where data, configuration, the user's exercise files and the packaged content live."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def home() -> Path:
    """The folder of all the user's files; ``QUIZAPP_HOME`` overrides the platform's folder."""
    override = os.environ.get("QUIZAPP_HOME")
    if override:
        return Path(override).expanduser()
    import platformdirs  # takes 4 ms, so it is not imported where QUIZAPP_HOME is set

    return Path(platformdirs.user_data_dir("quizapp", appauthor=False))


def database() -> Path:
    """The SQLite file that holds the event log."""
    return home() / "quizapp.db"


def backups() -> Path:
    """The folder of database backups."""
    return home() / "backups"


def config() -> Path:
    """The user's settings file."""
    return home() / "config.toml"


def workspace() -> Path:
    """The folder of the user's exercise files."""
    return home() / "exercises"


def deck_ids() -> Path:
    """The folder that remembers the ids of cards whose decks do not hold them."""
    return home() / "deck-ids"


def imported_decks() -> Path:
    """The folder of decks that were imported from Anki."""
    return home() / "decks" / "anki"


def cache() -> Path:
    """The folder of files that may be deleted at any time."""
    return home() / "cache"


def running_review() -> Path:
    """The code review that can be continued."""
    return home() / "code_review.json"


def log_file() -> Path:
    """Where details of internal errors are written."""
    return home() / "quizapp.log"


def _packaged(name: str) -> Path:
    # A wheel carries the content inside the package; a checkout keeps it beside the package.
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def content() -> Path:
    """The shipped questions, interviews and incidents."""
    return _packaged("content")


def exercises() -> Path:
    """The shipped exercises, one folder each."""
    return _packaged("exercises")
