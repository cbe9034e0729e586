"""The database schema as named steps. Each step and the record of it are one transaction."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from quizapp.errors import BrokenData
from quizapp.scheduling.events import new_id
from quizapp.store.errors import Newer

Migration = Callable[[sqlite3.Connection], None]


def create_log(db: sqlite3.Connection) -> None:
    """Create the append-only log and the identity of this device."""
    db.execute("""
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            device TEXT NOT NULL,
            device_seq INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            time INTEGER NOT NULL,
            "offset" INTEGER NOT NULL,
            day INTEGER NOT NULL,
            type TEXT NOT NULL,
            card TEXT NOT NULL,
            content TEXT NOT NULL,
            proposed INTEGER,
            rating INTEGER CHECK (rating BETWEEN 1 AND 4),
            ms INTEGER NOT NULL,
            hints INTEGER NOT NULL,
            ticks TEXT NOT NULL,
            seed INTEGER,
            confidence INTEGER,
            model TEXT NOT NULL,
            source TEXT NOT NULL,
            interval INTEGER,
            target TEXT NOT NULL,
            parent TEXT NOT NULL,
            data TEXT NOT NULL
        )""")
    db.execute("CREATE INDEX events_card ON events (card)")
    # SQLite uses a partial index only if the query repeats its condition.
    db.execute("CREATE INDEX events_parent ON events (parent) WHERE parent <> ''")
    db.execute("CREATE INDEX events_type ON events (type) WHERE type <> 'answer'")
    for verb in ("UPDATE", "DELETE"):
        db.execute(
            f"CREATE TRIGGER events_refuse_{verb.lower()} BEFORE {verb} ON events "
            "BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END"
        )
    # INSERT OR REPLACE deletes rows without firing the delete trigger.
    db.execute(
        "CREATE TRIGGER events_refuse_replace BEFORE INSERT ON events "
        "WHEN EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq OR id = NEW.id) "
        "BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END"
    )
    db.execute("CREATE TABLE identity (device TEXT NOT NULL, since INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO identity (device) VALUES (?)", (new_id(),))


def create_projections(db: sqlite3.Connection) -> None:
    """Create the tables that a replay of the log fills."""
    db.execute("""
        CREATE TABLE cards (
            card TEXT PRIMARY KEY,
            state INTEGER NOT NULL,
            step INTEGER,
            stability REAL NOT NULL,
            difficulty REAL NOT NULL,
            due INTEGER NOT NULL,
            due_day INTEGER NOT NULL,
            last INTEGER NOT NULL,
            last_day INTEGER NOT NULL,
            interval INTEGER NOT NULL,
            reps INTEGER NOT NULL,
            lapses INTEGER NOT NULL,
            rating INTEGER NOT NULL,
            suspended INTEGER NOT NULL,
            buried INTEGER NOT NULL,
            flagged INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            caps TEXT NOT NULL,
            content TEXT NOT NULL
        ) WITHOUT ROWID""")
    # A covering index: the queue of a day is read without touching the table.
    db.execute("CREATE INDEX cards_due ON cards (due_day, state, priority, suspended, buried, due)")
    db.execute("""
        CREATE TABLE reviews (
            seq INTEGER PRIMARY KEY,
            card TEXT NOT NULL,
            time INTEGER NOT NULL,
            day INTEGER NOT NULL,
            rating INTEGER NOT NULL,
            state INTEGER NOT NULL,
            elapsed INTEGER NOT NULL,
            stability REAL NOT NULL,
            predicted REAL,
            ms INTEGER NOT NULL,
            source TEXT NOT NULL,
            interval INTEGER NOT NULL
        )""")
    db.execute("CREATE INDEX reviews_day ON reviews (day)")
    db.execute("CREATE TABLE voids (event TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID")
    db.execute("CREATE TABLE renames (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID")
    db.execute("""
        CREATE TABLE head (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            seq INTEGER NOT NULL,
            stamp INTEGER NOT NULL,
            device_seq INTEGER NOT NULL,
            fold TEXT NOT NULL
        )""")
    db.execute("INSERT INTO head VALUES (1, 0, 0, 0, '')")


def create_documents(db: sqlite3.Connection) -> None:
    """Create the tables of submissions with their verdicts and of mock interviews."""
    db.execute("""
        CREATE TABLE submissions (
            id INTEGER PRIMARY KEY,
            slug TEXT NOT NULL,
            time INTEGER NOT NULL,
            status TEXT NOT NULL,
            passed INTEGER NOT NULL,
            tests_passed INTEGER NOT NULL,
            tests INTEGER NOT NULL,
            seconds REAL NOT NULL,
            source TEXT NOT NULL,
            verdict TEXT NOT NULL,
            event TEXT NOT NULL
        )""")
    db.execute("CREATE INDEX submissions_slug ON submissions (slug)")
    db.execute("""
        CREATE TABLE mocks (
            id TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            created INTEGER NOT NULL,
            updated INTEGER NOT NULL,
            document TEXT NOT NULL,
            event TEXT NOT NULL
        )""")


def add_progress(db: sqlite3.Connection) -> None:
    """Add to each submission whether every stage held, and the share of the whole exercise that did.

    Older verdicts know no stages: what passed stays passed, and none of them claims that all stages held.
    """
    db.execute("ALTER TABLE submissions ADD COLUMN complete INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE submissions ADD COLUMN share REAL NOT NULL DEFAULT 0")
    db.execute(
        "UPDATE submissions SET share = CASE WHEN tests THEN 1.0 * tests_passed / tests ELSE passed END"
    )


def add_fast_stability(db: sqlite3.Connection) -> None:
    """Add the second stability of FSRS-7 to the cards; it is 0 under FSRS-6, as replay leaves it."""
    db.execute("ALTER TABLE cards ADD COLUMN fast REAL NOT NULL DEFAULT 0.0")


MIGRATIONS: tuple[Migration, ...] = (
    create_log,
    create_projections,
    create_documents,
    add_progress,
    add_fast_stability,
)


def applied(db: sqlite3.Connection) -> list[str]:
    """The names of the steps that ran on this database. Raises ``BrokenData`` for a foreign file."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if "migrations" not in tables:
        if tables:
            raise BrokenData("it is a SQLite file of another program")
        return []
    return [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY rowid")]


def pending(
    db: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS
) -> list[Migration]:
    """The steps still to run, in order.

    Raises ``Newer`` where the database knows a step that this program does not, and ``BrokenData``
    where the file belongs to another program.
    """
    try:
        done = applied(db)
    except BrokenData as error:
        raise BrokenData(f"{path} cannot be used: {error}; move it away or set QUIZAPP_HOME.") from error
    steps = [step.__name__ for step in migrations]
    unknown = [name for name in done if name not in steps]
    if unknown:
        raise Newer(f"{path} was written by a newer quizapp (step {unknown[0]}): update this one to use it.")
    return [step for step in migrations if step.__name__ not in done]


def migrate(db: sqlite3.Connection, steps: list[Migration]) -> None:
    """Run the steps, each in its own transaction; a failing step leaves no trace."""
    for step in steps:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(
                "CREATE TABLE IF NOT EXISTS migrations"
                " (name TEXT PRIMARY KEY, applied TEXT DEFAULT CURRENT_TIMESTAMP)"
            )
            # Another process may have run it in the meantime.
            ran = db.execute("SELECT 1 FROM migrations WHERE name = ?", (step.__name__,)).fetchone()
            if not ran:
                step(db)
                db.execute("INSERT INTO migrations (name) VALUES (?)", (step.__name__,))
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
