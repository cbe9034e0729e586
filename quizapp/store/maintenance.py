"""Background maintenance of the open database: a backup after the start, or a check of every page."""

import sqlite3
import threading
from datetime import datetime, timedelta
from pathlib import Path

from quizapp.errors import QuizError
from quizapp.store import backups as backup_files
from quizapp.store.database import Database
from quizapp.store.errors import Corrupt

LARGE = 16 << 20  # bytes; larger databases are copied once a day only
CHECK_S = 0.05  # how long quitting waits for the check


class BackgroundMaintenance:
    """Runs one thread. ``warning`` says what is wrong; ``damaged`` means that the file must be set aside."""

    def __init__(self, db: Database, folder: Path | None) -> None:
        self.path = db.path
        self.folder = folder
        self.warning = ""
        self.damaged = False
        self._checked = db.checked
        self._thread: threading.Thread | None = None
        self._check: sqlite3.Connection | None = None

    def start(self, now: datetime, events: int) -> None:
        """Create a backup if one is due; otherwise check the file if opening it did not."""
        copy = self._backup_is_due(now, events)
        if copy or not self._checked:
            self._thread = threading.Thread(target=self._run, args=(now, copy), name="backup")
            self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether the thread is still running."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Wait for a running backup; interrupt a running check."""
        if self._thread:
            self._thread.join(CHECK_S)
            # Quitting must not wait for a check of a large file; the next start checks it again.
            if self._check:
                self._check.interrupt()
            self._thread.join()
            self._thread = None

    def _backup_is_due(self, now: datetime, events: int) -> bool:
        # Another copy adds nothing while the newest backup is recent or already holds every event.
        if self.folder is None or not events:
            return False
        backups = backup_files.list_backups(self.folder)
        spacing = backup_files.SPACING if self.path.stat().st_size < LARGE else timedelta(days=1)
        return not backups or (backups[0].events != events and now - backups[0].time >= spacing)

    def _run(self, now: datetime, copy: bool) -> None:
        try:
            if copy and self.folder:
                # This reads and checks every page, so no other check is needed.
                backup_files.create_backup(self.path, self.folder, now=now)
                backup_files.thin_out(self.folder, now)
            else:
                self._check_pages()
        except Corrupt as error:
            self.damaged = True
            self.warning = str(error)
        except QuizError as error:
            self.warning = str(error)

    def _check_pages(self) -> None:
        """Check every page over a separate connection, until `stop` interrupts it."""
        self._check = backup_files.open_read_only(self.path)
        try:
            sound = backup_files.is_sound(self._check)
        except sqlite3.OperationalError:  # interrupted
            sound = True
        finally:
            check, self._check = self._check, None
            check.close()
        if not sound:
            raise Corrupt(f"{self.path} is damaged: quit now, and it is set aside.")
