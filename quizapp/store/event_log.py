# ruff: noqa: S608 - only names of our own tables and columns enter the SQL, values are bound
"""The append-only log of one learner, and the store around it with everything derived from the log."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

from quizapp.errors import BrokenData
from quizapp.scheduling.cards import CardRow, EventReducer
from quizapp.scheduling.events import ACTS, COLUMNS, Draft, Event, EventType
from quizapp.store import backups as backup_files
from quizapp.store.database import Database
from quizapp.store.documents import Documents
from quizapp.store.errors import Corrupt, explained
from quizapp.store.maintenance import BackgroundMaintenance
from quizapp.store.migrations import MIGRATIONS, migrate, pending
from quizapp.store.projection import ORDER, RARE, STANDS, CardTables, Projection

_INSERT = f"INSERT INTO events VALUES ({', '.join('?' * len(Event._fields))})"


class _Head(NamedTuple):
    """The newest sequence number, stamp and device sequence number, and the version of the card rules."""

    seq: int
    stamp: int
    device_seq: int
    rules: str


class EventLog:
    """Reads and extends the table of events; it changes no derived table."""

    def __init__(self, db: Database) -> None:
        self._db = db
        devices = [device for (device,) in db.rows("SELECT device FROM identity ORDER BY since")]
        self.devices: tuple[str, ...] = tuple(devices)
        """The ids under which this database has written; the last one is current."""

    def head(self) -> _Head:
        """The end of the log, and the version of the rules that derived its cards."""
        row = self._db.row("SELECT seq, stamp, device_seq, fold FROM head")
        if row is None:
            raise BrokenData(f"{self._db.path} has lost its head row: run `quizapp restore`.")
        return _Head(int(row[0]), int(row[1]), int(row[2]), str(row[3]))

    def place(self, drafts: Iterable[Draft]) -> Iterator[Event]:
        """Write the drafts at the end of the log, each when the caller asks for it."""
        seq, stamp, device_seq, _ = self.head()
        for draft in drafts:
            # The stamp never falls, even if the clock was set back: it orders the events of all devices.
            seq, device_seq, stamp = seq + 1, device_seq + 1, max(stamp + 1, draft.moment.time)
            event = draft.placed(seq, self.devices[-1], device_seq, stamp)
            self._db.run(_INSERT, event)
            yield event

    def add_foreign(self, events: Iterable[Event]) -> int:
        """Add events of other devices that are not in the log yet; return how many were new."""
        before, stamp, _, _ = self.head()
        seq = before
        ids = {event_id for (event_id,) in self._db.rows("SELECT id FROM events")}
        # Sorted, so that the sequence numbers do not depend on the order of the files that were read.
        for event in sorted(events, key=lambda event: (event.stamp, event.device, event.device_seq)):
            if event.id not in ids:
                seq += 1
                ids.add(event.id)
                self._db.run(_INSERT, event._replace(seq=seq))
                stamp = max(stamp, event.stamp)
        if seq > before:
            self._db.run("UPDATE head SET seq = ?, stamp = ?", (seq, stamp))
        return seq - before

    def all(self, after: int = 0) -> list[Event]:
        """The events in the order of arrival, starting behind sequence number ``after``."""
        return self._select("seq > ? ORDER BY seq", (after,))

    def standing(self, kind: EventType, card: str = "") -> list[Event]:
        """The events of a type (and card) that were not undone, in order."""
        rare = f" AND {RARE}" if kind != EventType.ANSWER else ""
        of_card = " AND card = ?" if card else ""
        condition = f"type = ?{rare}{of_card} AND {STANDS} ORDER BY {ORDER}"
        return self._select(condition, (kind, card) if card else (kind,))

    def find(self, event_id: str) -> Event | None:
        """An event by its id."""
        events = self._select("id = ?", (event_id,))
        return events[0] if events else None

    def last_act(self) -> Event | None:
        """The action that undo takes back: the newest on this device that was not undone."""
        return self._newest(f"type IN ({_quoted(ACTS)}) AND parent = '' AND {STANDS}")

    def last_undo(self) -> Event | None:
        """The undo that redo takes back: the newest one, unless something was done since."""
        undo = self._newest(
            f"type = '{EventType.UNDO}' AND {RARE} AND {STANDS} AND EXISTS"
            f" (SELECT 1 FROM events AS t WHERE t.id = events.target AND t.type <> '{EventType.UNDO}')"
        )
        act = self._newest(f"type IN ({_quoted(ACTS)}) AND parent = ''")
        return undo if undo and act and undo.seq > act.seq else None

    def _newest(self, condition: str) -> Event | None:
        here = f"device IN ({_quoted(self.devices)})"
        events = self._select(f"{condition} AND {here} ORDER BY seq DESC LIMIT 1")
        return events[0] if events else None

    def _select(self, condition: str, values: tuple[object, ...] = ()) -> list[Event]:
        rows = self._db.rows(f"SELECT {COLUMNS} FROM events WHERE {condition}", values)
        return [Event._make(row) for row in rows]


class Store:
    """One learner's database: the log, the cards that follow from it, and documents.

    Open it with ``Store.open`` and attach a reducer before appending.
    """

    def __init__(self, db: Database, backups: Path | None = None) -> None:
        self.db = db
        self.path = db.path
        self.backups = backups
        self.log = EventLog(db)
        self.tables = CardTables(db)
        self.documents = Documents(db)
        self.maintenance = BackgroundMaintenance(db, backups)
        self._projection: Projection | None = None
        self._reducer: EventReducer | None = None

    @classmethod
    def open(cls, path: Path, *, backups: Path | None = None) -> Self:
        """Open or create the database at ``path``, migrate it, and back it up in the background.

        A damaged file is set aside. Raises ``BrokenData`` in that case, and if the folder cannot be written
        or a newer version wrote the database.
        """
        existed = path.exists() and path.stat().st_size > 0
        try:
            db = Database(path)
        except Corrupt as error:
            raise _set_aside(path, backups) from error
        try:
            steps = pending(db.connection, path, MIGRATIONS)
            if steps:
                if existed and backups and len(steps) < len(MIGRATIONS):
                    backup_files.create_backup(path, backups, now=datetime.now(UTC), reason="migration")
                with explained(path):
                    migrate(db.connection, steps)
            store = cls(db, backups)
        except BaseException:
            db.close()
            raise
        if existed:
            store.maintenance.start(datetime.now(UTC), store.log.head().seq)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the background work and close the file.

        If the file turned out to be damaged, it is set aside and ``BrokenData`` is raised.
        """
        self.maintenance.stop()
        self.db.close()
        if self.maintenance.damaged:
            self.maintenance.damaged = False
            raise _set_aside(self.path, self.backups)

    def attach(self, reducer: EventReducer) -> None:
        """Set the rules that derive cards from events, and rebuild the cards if other rules derived them."""
        self._reducer = reducer
        self._projection = Projection(self.db, reducer)
        if self.log.head().rules != reducer.version:
            self.rebuild()

    def follow(self) -> None:
        """Adopt rules that another process has changed since, for example by fitting new weights."""
        if self._reducer is None or self._projection is None or self._rules_agree(self._reducer):
            return
        with self.db.transaction():
            self._projection.configure()
            if not self._rules_agree(self._reducer):
                self.rebuild()

    def _rules_agree(self, reducer: EventReducer) -> bool:
        return self.log.head().rules == reducer.version

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run several reads and appends as one transaction, with one fsync at the end."""
        with self.db.transaction():
            yield

    def append(self, *drafts: Draft) -> tuple[Event, ...]:
        """Append events and update the derived tables in one transaction; on disk when it returns."""
        with self.db.transaction():
            self.follow()
            events = []
            for event in self.log.place(drafts):
                if self._projection:
                    self._projection.apply(event)
                events.append(event)
            if events:
                # Without a reducer the cards fall behind: the empty version makes ``attach`` rebuild them.
                rules = self._reducer.version if self._reducer else ""
                last = events[-1]
                self.db.run(
                    "UPDATE head SET seq = ?, stamp = ?, device_seq = ?, fold = ?",
                    (last.seq, last.stamp, last.device_seq, rules),
                )
        return tuple(events)

    def merge(self, events: Iterable[Event]) -> int:
        """Add events of another device and replay the log; return how many were new."""
        with self.db.transaction():
            new = self.log.add_foreign(events)
            if new and self._projection:
                self.rebuild()
            elif new:
                self.db.run("UPDATE head SET fold = ''")
        return new

    def rebuild(self) -> None:
        """Delete everything derived and replay the log."""
        assert self._projection is not None
        assert self._reducer is not None
        with self.db.transaction():
            self._projection.rebuild()
            seq, stamp = self.db.rows("SELECT coalesce(max(seq), 0), coalesce(max(stamp), 0) FROM events")[0]
            self.db.run("UPDATE head SET seq = ?, stamp = ?, fold = ?", (seq, stamp, self._reducer.version))

    def latest(self, name: str) -> CardRow:
        """The row of a card to which an event was just appended in this transaction."""
        row = self._projection.latest if self._projection else None
        row = row if row and row.card == name else self.tables.card(name)
        assert row is not None
        return row

    def integrity(self) -> str:
        """What SQLite's full check finds wrong with the database; empty if it is sound."""
        findings = "; ".join(str(row[0]) for row in self.db.rows("PRAGMA integrity_check(5)"))
        return "" if findings == "ok" else findings


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _set_aside(path: Path, folder: Path | None) -> BrokenData:
    """Set the damaged file aside; return the error that says so and offers a backup."""
    aside = backup_files.set_aside(path, datetime.now(UTC))
    backup = backup_files.newest_good(folder)
    offer = (
        f"run `quizapp restore` for the backup of {backup.time:%Y-%m-%d %H:%M} UTC"
        if backup
        else "there is no backup, so the next start begins with an empty one"
    )
    return BrokenData(f"The database was damaged and has been moved to {aside}: {offer}.")
