"""Backups of the database: created by SQLite itself, thinned out with age, restored without loss."""

import os
import re
import sqlite3
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from quizapp.errors import BrokenData
from quizapp.store.errors import Corrupt, explain, explained
from quizapp.util.atomic import publish

_NAME = re.compile(r"quizapp-(\d{8}T\d{6}Z)-(\d+)(?:-([a-z]+))?\.db")
SPACING = timedelta(minutes=30)  # a script may start the program every second


class Backup(NamedTuple):
    """One file of the backup folder: when it was made, how many events it holds, and why."""

    path: Path
    time: datetime
    events: int
    reason: str


def list_backups(folder: Path) -> list[Backup]:
    """The backups in a folder, newest first."""
    backups = []
    for path in folder.glob("quizapp-*.db") if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match:
            time = datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            backups.append(Backup(path, time, int(match[2]), match[3] or "start"))
    return sorted(backups, key=lambda backup: (backup.time, backup.events), reverse=True)


def times_to_keep(times: Sequence[datetime], now: datetime) -> set[datetime]:
    """Choose the backups to keep by their times.

    All backups of the last 2 days stay. Of the older ones, the newest stays for each of 12 days, before that
    of 10 weeks, and before that of 9 months. Periods without a backup do not count.
    """
    keep = {time for time in times if now - time <= timedelta(days=2)}
    older = sorted(set(times) - keep, reverse=True)
    periods: tuple[tuple[int, Callable[[datetime], Hashable]], ...] = (
        (12, lambda time: time.date()),
        (10, lambda time: time.isocalendar()[:2]),
        (9, lambda time: (time.year, time.month)),
    )
    for number, period in periods:
        seen: set[Hashable] = set()
        while older and (period(older[0]) in seen or len(seen) < number):
            time = older.pop(0)
            if period(time) not in seen:
                seen.add(period(time))
                keep.add(time)
    return keep


def thin_out(folder: Path, now: datetime) -> None:
    """Delete the backups that `times_to_keep` does not keep."""
    backups = list_backups(folder)
    keep = times_to_keep([backup.time for backup in backups], now)
    for backup in backups:
        if backup.time not in keep:
            backup.path.unlink(missing_ok=True)


def create_backup(source: Path, folder: Path, *, now: datetime, reason: str = "start") -> Backup:
    """Copy the database, even while others use it. A copy that is incomplete or damaged is discarded.

    Raises ``Corrupt`` if the database is damaged, ``BrokenData`` if the copy cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrokenData(f"The backup folder {folder} cannot be created ({error.strerror}).") from error
    part = folder / f".{os.getpid()}-{now:%H%M%S%f}.part"
    try:
        events = _copy(source, part)
        name = f"quizapp-{now:%Y%m%dT%H%M%SZ}-{events}" + ("" if reason == "start" else f"-{reason}")
        path = folder / f"{name}.db"
        publish(part, path)
    except OSError as error:
        raise BrokenData(f"The backup in {folder} failed ({error.strerror}).") from error
    finally:
        part.unlink(missing_ok=True)
    return Backup(path, now.replace(microsecond=0), events, reason)


def _copy(source: Path, target: Path) -> int:
    """Copy, check the copy, and return the number of events in it."""
    try:
        origin = open_read_only(source)
        copy = sqlite3.connect(target, isolation_level=None)
        try:
            copy.execute("PRAGMA synchronous = OFF")  # the whole file is synced once, below
            origin.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # leaves one file without a -wal beside it
            if not is_sound(copy):
                raise Corrupt(f"{source} is damaged: run `quizapp restore` to bring back a backup.")
            return int(copy.execute("SELECT count(*) FROM events").fetchone()[0])
        finally:
            copy.close()
            origin.close()
    except sqlite3.Error as error:
        sentence = explain(error, source)
        if isinstance(sentence, Corrupt):
            raise sentence from error
        raise BrokenData(f"The backup in {target.parent} failed ({error}).") from error


def newest_good(folder: Path | None) -> Backup | None:
    """The newest backup that passes SQLite's own check."""
    for backup in list_backups(folder) if folder else ():
        if is_good(backup.path):
            return backup
    return None


def is_good(path: Path) -> bool:
    """Whether a file is an undamaged database of this program."""
    try:
        db = open_read_only(path)
        try:
            db.execute("SELECT count(*) FROM events")
            return is_sound(db)
        finally:
            db.close()
    except sqlite3.Error:
        return False


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that can only read, usable from any thread."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def is_sound(db: sqlite3.Connection) -> bool:
    """Whether every page passes SQLite's own check."""
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.OperationalError:  # busy or interrupted, which says nothing about the pages
        raise
    except sqlite3.DatabaseError:
        return False


def set_aside(path: Path, now: datetime) -> Path:
    """Move a damaged database with its ``-wal`` and ``-shm`` files out of the way; return its new path."""
    aside = path.with_name(f"{path.name}.broken-{now:%Y%m%dT%H%M%SZ}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.broken-{now:%Y%m%dT%H%M%SZ}-{number}")
    for suffix in ("", "-wal", "-shm"):
        old = path.with_name(path.name + suffix)
        if old.exists():
            old.replace(aside.with_name(aside.name + suffix))
    return aside


def restore(path: Path, backup: Path, folder: Path, *, now: datetime) -> Path | None:
    """Replace the database at ``path`` by a backup, and keep the old database.

    Returns the path of the old database (a backup, or the damaged file set aside), or None if there was none.
    Raises ``BrokenData`` if the backup is damaged; nothing is changed in that case.
    """
    if not is_good(backup):
        raise BrokenData(f"{backup} is damaged or not a backup of quizapp: choose another one.")
    kept = None
    if path.exists():
        kept = (
            create_backup(path, folder, now=now, reason="replaced").path
            if is_good(path)
            else set_aside(path, now)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with explained(path):
        origin = open_read_only(backup)
        # Copied by SQLite instead of renamed, because another process may have the file open.
        target = sqlite3.connect(path, timeout=3, isolation_level=None)
        try:
            target.execute("PRAGMA synchronous = FULL")
            origin.backup(target)
            # With a new device id, new events do not look like a continuation of the replaced ones.
            target.execute("INSERT INTO identity (device) VALUES (lower(hex(randomblob(16))))")
        finally:
            target.close()
            origin.close()
    return kept
