"""One durable SQLite connection that other processes can share; its errors are readable sentences."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quizapp.errors import BrokenData
from quizapp.store.errors import Corrupt, explain, explained

BUSY_MS = 3000
CHECKED_AT_OPEN = 1 << 20  # bytes, 2 ms; a larger file is checked in the background
Row = tuple[Any, ...]


class Database:
    """A connection with nested transactions; may be used from several threads, one at a time."""

    def __init__(self, path: Path, *, busy_ms: int = BUSY_MS) -> None:
        """Open or create the file.

        Raises ``Corrupt`` if it is damaged, ``BrokenData`` if it cannot be opened or written.
        """
        self.path = path
        self.lock = threading.RLock()
        self._depth = 0
        self.checked = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokenData(
                f"The folder {path.parent} cannot be created ({error.strerror}): set QUIZAPP_HOME."
            ) from error
        with explained(path):
            self.connection = sqlite3.connect(
                path, timeout=busy_ms / 1000, isolation_level=None, check_same_thread=False
            )
        try:
            with explained(path):
                self._prepare()
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self) -> None:
        run = self.connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA fullfsync = 1")  # macOS only: fsync alone does not reach the platter there
        if self.path.stat().st_size <= CHECKED_AT_OPEN:
            self.check()
            self.checked = True

    def check(self) -> None:
        """Raise ``Corrupt`` unless every page of the file is sound."""
        if self.rows("PRAGMA quick_check(1)") != [("ok",)]:
            raise Corrupt(f"{self.path} is damaged: run `quizapp restore` to bring back a backup.")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        try:
            with self.lock:
                return self.connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The first row of a query."""
        try:
            with self.lock:
                row: Row | None = self.connection.execute(sql, values).fetchone()
                return row
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Run one statement; only inside a transaction."""
        assert self._depth, "writes happen inside a transaction"
        self.connection.execute(sql, values)

    def run_many(self, sql: str, values: Iterator[Row] | Sequence[Row]) -> None:
        """Run one statement for many rows; only inside a transaction."""
        assert self._depth, "writes happen inside a transaction"
        self.connection.executemany(sql, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of the block or nothing of it. The data is on disk when the outermost block ends."""
        # SQLite has no nested transactions, so an inner block joins the outer one.
        with self.lock:
            if self._depth:
                yield
                return
            with explained(self.path):
                self.connection.execute("BEGIN IMMEDIATE")
                self._depth = 1
                try:
                    yield
                    self.connection.execute("COMMIT")
                except BaseException:
                    if self.connection.in_transaction:  # on a full disk SQLite may have rolled back already
                        self.connection.execute("ROLLBACK")
                    raise
                finally:
                    self._depth = 0

    def data_version(self) -> int:
        """A number that changes whenever another connection has written."""
        row = self.row("PRAGMA data_version")
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self.connection.close()
