"""Translates SQLite's errors into one sentence each for the user."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quizapp.errors import INTERNAL, BrokenData, QuizError


class Busy(QuizError):
    """Another process has locked the database for longer than the program waits."""

    exit_code = INTERNAL


class Corrupt(BrokenData):
    """The file is damaged, or not a database."""


class Newer(BrokenData):
    """The database was written by a newer version of the program."""


def explain(error: sqlite3.Error, path: Path) -> QuizError:
    """The sentence for a SQLite error on the database at ``path``."""
    # The low byte is the primary code; the rest is more specific.
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return Busy(f"Another quizapp is writing to {path}: try again in a moment.")
    if code == sqlite3.SQLITE_FULL:
        return BrokenData(
            f"The disk that holds {path} is full: free some space and repeat the last step; it was not saved."
        )
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return BrokenData(f"{path} cannot be written: make it and its folder writable, or set QUIZAPP_HOME.")
    if code == sqlite3.SQLITE_CANTOPEN:
        return BrokenData(
            f"{path} cannot be opened: check that its folder exists and is writable, or set QUIZAPP_HOME."
        )
    if code == sqlite3.SQLITE_IOERR:
        return BrokenData(f"Reading or writing {path} failed, the last step was not saved: check the disk.")
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return Corrupt(f"{path} is damaged: run `quizapp restore` to bring back a backup.")
    return BrokenData(f"The database {path} cannot be used ({error}): run `quizapp doctor`.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn any SQLite error inside the block into a ``QuizError``; see `explain`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from error
