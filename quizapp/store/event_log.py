# ruff: noqa: S608 - only names of our own tables and columns enter the SQL, values are bound
"""The store: the append-only log, what follows from it, documents and backups."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from quizapp.errors import BrokenData
from quizapp.scheduling.cards import CardRow, Fold
from quizapp.scheduling.events import ACTS, ANSWER, COLUMNS, TYPES, UNDO, Draft, Event
from quizapp.store import backups as backup_files
from quizapp.store.database import Database
from quizapp.store.derived import Derived
from quizapp.store.documents import Documents
from quizapp.store.errors import Corrupt, explained
from quizapp.store.maintenance import Care
from quizapp.store.migrations import MIGRATIONS, migrate, pending
from quizapp.store.projection import ORDER, RARE, STANDS, Projection

_INSERT = f"INSERT INTO events VALUES ({', '.join('?' * len(Event._fields))})"


class Store(Derived):
    """One learner's database. Open with ``Store.open``; give it a fold before appending."""

    def __init__(self, db: Database, backups: Path | None = None) -> None:
        self.db = db
        self.path = db.path
        self.documents = Documents(db)
        self.backups = backups
        self.care = Care(db, backups)
        self._projection: Projection | None = None
        self._fold: Fold | None = None
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
            store.care.begin(datetime.now(UTC), store._head()[0])
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
        self.care.finish()
        self.db.close()
        if self.care.damaged:
            self.care.damaged = False
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

    def latest(self, name: str) -> CardRow:
        """The row of a card to which an event was just appended in this transaction."""
        row = self._projection.latest if self._projection else None
        row = row if row and row.card == name else self.card(name)
        assert row is not None
        return row

    # health

    def integrity(self) -> str:
        """Empty where the database is sound, else what SQLite found."""
        found = "; ".join(str(row[0]) for row in self.db.rows("PRAGMA integrity_check(5)"))
        return "" if found == "ok" else found


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
