# ruff: noqa: S608 - only names of our own tables and columns enter the SQL, values are bound
"""The store: the append-only log, what follows from it, documents and backups."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from quizapp.errors import BrokenData, QuizError
from quizapp.store import backups as backup_files
from quizapp.store.database import Database, Row
from quizapp.store.documents import Documents
from quizapp.store.events import ACTS, ANSWER, COLUMNS, TYPES, UNDO, Draft, Event
from quizapp.store.faults import Corrupt, explained
from quizapp.store.migrations import MIGRATIONS, migrate, pending
from quizapp.store.projection import CARD_LIST, ORDER, RARE, STANDS, Projection
from quizapp.store.rows import CardRow, Fold, ReviewRow, Waiting

LARGE = 16 << 20  # bytes; larger databases are copied once a day only
CHECK_S = 0.05  # how long quitting waits for the check in the background
_INSERT = f"INSERT INTO events VALUES ({', '.join('?' * len(Event._fields))})"
_DERIVED = (
    ("cards", "card"),
    ("reviews", "seq"),
    ("voids", "event"),
    ("renames", "old"),
)


class Store:
    """One learner's database. Open with ``Store.open``; give it a fold before appending."""

    def __init__(self, db: Database, backups: Path | None = None) -> None:
        self.db = db
        self.path = db.path
        self.documents = Documents(db)
        self.backups = backups
        self.warning = ""
        self._projection: Projection | None = None
        self._fold: Fold | None = None
        self._background: threading.Thread | None = None
        self._check: sqlite3.Connection | None = None
        self._damaged = False
        devices = [device for (device,) in db.rows("SELECT device FROM identity ORDER BY since")]
        self.devices: tuple[str, ...] = tuple(devices)

    @classmethod
    def open(cls, path: Path, *, backups: Path | None = None) -> Self:
        """Open or create the database at ``path``, migrate it, and back it up in the background.

        A damaged file is set aside. Raises ``BrokenData`` with a sentence in that case, and where the
        folder cannot be written or the database comes from a newer version.
        """
        existed = path.exists() and path.stat().st_size > 0
        try:
            db = Database(path)
        except Corrupt as error:
            raise _broken(path, backups) from error
        try:
            steps = pending(db.connection, path, MIGRATIONS)
            if steps:
                if existed and backups and len(steps) < len(MIGRATIONS):
                    backup_files.take(path, backups, now=datetime.now(UTC), reason="migration")
                with explained(path):
                    migrate(db.connection, steps)
            store = cls(db, backups)
        except BaseException:
            db.close()
            raise
        if existed:
            store.look_after(datetime.now(UTC))
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what runs in the background and close the file.

        Raises ``BrokenData`` where the file turned out to be damaged; it is set aside then.
        """
        if self._background:
            self._background.join(CHECK_S)
            if self._check:  # a mere check may be cut short, a backup is finished
                self._check.interrupt()
            self._background.join()
            self._background = None
        self.db.close()
        if self._damaged:
            self._damaged = False
            raise _broken(self.path, self.backups)

    # the log

    def attach(self, fold: Fold) -> None:
        """Give the store the rules by which cards follow from events; catches up with the log."""
        self._fold = fold
        self._projection = Projection(self.db, fold)
        _, _, _, known = self._head()
        if known != fold.version:
            self.rebuild()

    def follow(self) -> None:
        """Take over the rules by which another process has derived the cards since: new weights."""
        if self._fold is None or self._projection is None or self._head()[3] == self._fold.version:
            return
        with self.db.transaction():
            self._projection.configure()
            if self._head()[3] != self._fold.version:
                self.rebuild()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Several reads and appends as one, with one fsync at the end."""
        with self.db.transaction():
            yield

    def append(self, *drafts: Draft) -> tuple[Event, ...]:
        """Append events and derive what follows, in one transaction; on disk when it returns."""
        with self.db.transaction():
            self.follow()
            seq, stamp, device_seq, _ = self._head()
            events = []
            for draft in drafts:
                assert draft.type in TYPES, draft.type
                seq, device_seq, stamp = seq + 1, device_seq + 1, max(stamp + 1, draft.moment.time)
                event = draft.placed(seq, self.devices[-1], device_seq, stamp)
                self.db.run(_INSERT, event)
                if self._projection:
                    self._projection.apply(event)
                events.append(event)
            # without a fold the projections fall behind: the empty version makes ``attach`` rebuild them
            version = self._fold.version if self._fold else ""
            self.db.run(
                "UPDATE head SET seq = ?, stamp = ?, device_seq = ?, fold = ?",
                (seq, stamp, device_seq, version),
            )
        return tuple(events)

    def merge(self, events: Iterable[Event]) -> int:
        """Take over events of another device that are not known yet and replay; how many were new."""
        with self.db.transaction():
            seq, stamp, _, fold = self._head()
            known = {name for (name,) in self.db.rows("SELECT id FROM events")}
            before = seq
            for event in sorted(events, key=lambda event: (event.stamp, event.device, event.device_seq)):
                if event.id not in known:
                    seq += 1
                    known.add(event.id)
                    self.db.run(_INSERT, event._replace(seq=seq))
                    stamp = max(stamp, event.stamp)
            if seq > before:
                self.db.run("UPDATE head SET seq = ?, stamp = ?", (seq, stamp))
                if self._projection:
                    self.rebuild()
                elif fold:
                    self.db.run("UPDATE head SET fold = ''")
        return seq - before

    def events(self, after: int = 0) -> list[Event]:
        """The log in the order of arrival, from the event behind sequence number ``after``."""
        sql = f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq"
        return [Event._make(row) for row in self.db.rows(sql, (after,))]

    def standing(self, kind: str, card: str = "") -> list[Event]:
        """The events of a type (and card) that were not undone, in order."""
        condition = (
            "type = ?" + (f" AND {RARE}" if kind != ANSWER else "") + (" AND card = ?" if card else "")
        )
        sql = f"SELECT {COLUMNS} FROM events WHERE {condition} AND {STANDS} ORDER BY {ORDER}"
        return [Event._make(row) for row in self.db.rows(sql, (kind, card) if card else (kind,))]

    def last_act(self) -> Event | None:
        """The newest act on this device that stands: what undo takes back."""
        return self._newest(f"type IN ({_quoted(ACTS)}) AND parent = '' AND {STANDS}")

    def last_undo(self) -> Event | None:
        """The undo that redo takes back: the newest that stands, unless something was done since."""
        undo = self._newest(
            f"type = '{UNDO}' AND {RARE} AND {STANDS} AND EXISTS"
            f" (SELECT 1 FROM events AS t WHERE t.id = events.target AND t.type <> '{UNDO}')"
        )
        act = self._newest(f"type IN ({_quoted(ACTS)}) AND parent = ''")
        return undo if undo and act and undo.seq > act.seq else None

    def _newest(self, condition: str) -> Event | None:
        own = _quoted(self.devices)
        sql = (
            f"SELECT {COLUMNS} FROM events WHERE {condition} AND device IN ({own}) ORDER BY seq DESC LIMIT 1"
        )
        found = self.db.row(sql)
        return Event._make(found) if found else None

    def event(self, event_id: str) -> Event | None:
        """An event by its id."""
        found = self.db.row(f"SELECT {COLUMNS} FROM events WHERE id = ?", (event_id,))
        return Event._make(found) if found else None

    # what follows from it

    def _head(self) -> tuple[int, int, int, str]:
        found = self.db.row("SELECT seq, stamp, device_seq, fold FROM head")
        if found is None:
            raise BrokenData(f"{self.path} has lost its head row: run `quizapp restore`.")
        return int(found[0]), int(found[1]), int(found[2]), str(found[3])

    def rebuild(self) -> None:
        """Delete everything derived and replay the log."""
        assert self._projection is not None
        assert self._fold is not None
        with self.db.transaction():
            self._projection.rebuild()
            seq, stamp = self.db.rows("SELECT coalesce(max(seq), 0), coalesce(max(stamp), 0) FROM events")[0]
            self.db.run("UPDATE head SET seq = ?, stamp = ?, fold = ?", (seq, stamp, self._fold.version))

    def derived(self) -> dict[str, list[Row]]:
        """All derived rows by table, in a fixed order: two stores agree if these are equal."""
        return {table: self.db.rows(f"SELECT * FROM {table} ORDER BY {key}") for table, key in _DERIVED}

    def card(self, name: str) -> CardRow | None:
        """The row of one card."""
        found = self.db.row(f"SELECT {CARD_LIST} FROM cards WHERE card = ?", (name,))
        return CardRow(*found) if found else None

    def latest(self, name: str) -> CardRow:
        """The row of a card to which an event was just appended in this transaction."""
        row = self._projection.latest if self._projection else None
        row = row if row and row.card == name else self.card(name)
        assert row is not None
        return row

    def cards(self) -> list[CardRow]:
        """The rows of all cards, by id."""
        return [CardRow(*row) for row in self.db.rows(f"SELECT {CARD_LIST} FROM cards ORDER BY card")]

    def due_cards(self, day: int) -> list[Waiting]:
        """The cards that fall due on or before a study day, and new ones that stand first in the queue."""
        # new cards have due_day 0, so that one index serves both
        sql = (
            f"SELECT {', '.join(Waiting._fields)} FROM cards WHERE due_day <= ?"
            " AND (state > 0 OR priority > 0) AND suspended = 0 AND buried < ?"
        )
        return [Waiting._make(row) for row in self.db.rows(sql, (day, day))]

    def reviewed(self, day: int) -> list[Row]:
        """(card, state before, source) of the reviews of a study day."""
        return self.db.rows("SELECT card, state, source FROM reviews WHERE day = ? ORDER BY seq", (day,))

    def not_new(self, day: int) -> set[str]:
        """The cards that cannot be introduced on a study day: seen, suspended or buried ones."""
        seen = self.db.rows("SELECT card FROM cards INDEXED BY cards_due WHERE state > 0")
        hidden = self.db.rows(
            "SELECT card FROM cards WHERE due_day = 0 AND state = 0 AND (suspended = 1 OR buried >= ?)",
            (day,),
        )
        return {name for (name,) in seen} | {name for (name,) in hidden}

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of the names that have a card."""
        wanted = list(names)
        found: list[str] = []
        for start in range(0, len(wanted), 500):  # SQLite limits the number of parameters
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            found += [
                name for (name,) in self.db.rows(f"SELECT card FROM cards WHERE card IN ({marks})", part)
            ]
        return found

    def typical_seconds(self) -> float:
        """The mean answering time of the last 200 timed reviews in seconds, 0.0 without any."""
        sql = "SELECT avg(ms) FROM (SELECT ms FROM reviews WHERE ms > 0 ORDER BY seq DESC LIMIT 200)"
        return float(self.db.rows(sql)[0][0] or 0.0) / 1000

    def reviews(self, *, card: str = "", since: int = 0) -> list[ReviewRow]:
        """The reviews that stand, of one card or from a study day on, in the order of the log."""
        if card:
            names = "SELECT ?1 UNION SELECT old FROM renames WHERE new = ?1"
            rows = self.db.rows(
                "SELECT reviews.* FROM reviews JOIN events ON events.seq = reviews.seq"
                f" WHERE events.card IN ({names}) ORDER BY {ORDER}",
                (card,),
            )
        else:
            rows = self.db.rows("SELECT * FROM reviews WHERE day >= ? ORDER BY seq", (since,))
        return [ReviewRow._make(row) for row in rows]

    def study_days(self) -> list[tuple[int, int]]:
        """(study day, reviews on it), newest first."""
        rows = self.db.rows("SELECT day, count(*) FROM reviews GROUP BY day ORDER BY day DESC")
        return [(int(day), int(number)) for day, number in rows]

    def review_count(self) -> int:
        """The number of reviews that stand."""
        return int(self.db.rows("SELECT count(*) FROM reviews")[0][0])

    # health

    def integrity(self) -> str:
        """Empty where the database is sound, else what SQLite found."""
        found = "; ".join(str(row[0]) for row in self.db.rows("PRAGMA integrity_check(5)"))
        return "" if found == "ok" else found

    def backup(self, reason: str = "manual") -> backup_files.Backup:
        """Take a backup now. Raises ``BrokenData`` where that fails."""
        if self.backups is None:
            raise BrokenData("No backup folder is set.")
        return backup_files.take(self.path, self.backups, now=datetime.now(UTC), reason=reason)

    def look_after(self, now: datetime) -> None:
        """Take the backup of the start and check what was not checked yet, in a thread of its own."""
        copy = self._backup_is_due(now)
        if copy or not self.db.checked:
            self._background = threading.Thread(target=self._look_after, args=(now, copy), name="backup")
            self._background.start()

    def _backup_is_due(self, now: datetime) -> bool:
        """Unless the newest backup is recent, or nothing happened since."""
        if self.backups is None or not self._head()[0]:
            return False
        kept = backup_files.listed(self.backups)
        spacing = backup_files.SPACING if self.path.stat().st_size < LARGE else timedelta(days=1)
        return not kept or (kept[0].events != self._head()[0] and now - kept[0].time >= spacing)

    def _look_after(self, now: datetime, copy: bool) -> None:
        try:
            if copy and self.backups:
                # reads and checks every page, so that no other check is needed
                backup_files.take(self.path, self.backups, now=now)
                backup_files.thin(self.backups, now)
            else:
                self._look_through()
        except Corrupt as error:
            self._damaged = True
            self.warning = str(error)
        except QuizError as error:
            self.warning = str(error)

    def _look_through(self) -> None:
        """Check every page over a connection of its own, as far as ``close`` allows."""
        self._check = backup_files.reading(self.path)
        try:
            sound = backup_files.is_sound(self._check)
        except sqlite3.OperationalError:  # interrupted
            sound = True
        finally:
            check, self._check = self._check, None
            check.close()
        if not sound:
            raise Corrupt(f"{self.path} is damaged: quit now, it is then set aside.")


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _broken(path: Path, folder: Path | None) -> BrokenData:
    """Set the damaged file aside and say so, with what can be had instead."""
    aside = backup_files.set_aside(path, datetime.now(UTC))
    backup = backup_files.newest_good(folder)
    offer = (
        f"run `quizapp restore` for the backup of {backup.time:%Y-%m-%d %H:%M} UTC"
        if backup
        else "there is no backup, so the next start begins an empty one"
    )
    return BrokenData(f"The database was damaged and now lies at {aside}: {offer}.")
