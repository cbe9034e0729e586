"""Newer, foreign, broken, read-only, full and busy databases: one sentence, nothing overwritten."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quizapp.errors import BrokenData, QuizError
from quizapp.scheduling.reducer import CardReducer
from quizapp.store import Store
from quizapp.store.database import Database
from quizapp.store.errors import Busy, Corrupt, Newer, explain
from quizapp.store.migrations import MIGRATIONS, applied, migrate, pending

pytestmark = pytest.mark.slow


def one_sentence(error: pytest.ExceptionInfo) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert isinstance(error.value, QuizError)
    return text


def fill(path: Path, answer, number: int = 30, backups: Path | None = None) -> None:
    with Store.open(path, backups=backups) as store:
        store.attach(CardReducer())
        store.append(*(answer(f"q{index}") for index in range(number)))


def test_newer_database_is_refused_and_untouched(path: Path, answer) -> None:
    fill(path, answer)
    newer = sqlite3.connect(path)
    newer.execute("INSERT INTO migrations (name) VALUES ('telepathy')")
    newer.commit()
    newer.close()
    before = path.read_bytes()
    with pytest.raises(Newer, match="newer quizapp") as error:
        Store.open(path)
    assert "telepathy" in one_sentence(error)
    assert path.read_bytes() == before


def test_database_of_another_program_is_refused(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE recipes (name)")
    other.commit()
    other.close()
    with pytest.raises(BrokenData, match="another program") as error:
        Store.open(path)
    one_sentence(error)


@pytest.mark.parametrize("damage", ["garbage", "header", "middle", "truncated"])
def test_damaged_database_is_set_aside_and_the_backup_offered(
    path: Path, tmp_path: Path, answer, damage: str
) -> None:
    backups = tmp_path / "backups"
    fill(path, answer, 300)
    with Store.open(path, backups=backups):
        pass
    whole = path.read_bytes()
    broken = {
        "garbage": b"not a database at all" * 100,
        "header": b"\0" * 100 + whole[100:],
        "middle": whole[: len(whole) // 3] + b"\xa5" * 8192 + whole[len(whole) // 3 + 8192 :],
        "truncated": whole[: len(whole) // 2],
    }[damage]
    path.write_bytes(broken)
    with pytest.raises(BrokenData) as error:
        Store.open(path, backups=backups)
    text = one_sentence(error)
    (aside,) = path.parent.glob("quizapp.db.broken-*Z")
    assert aside.read_bytes() == broken
    assert str(aside) in text
    assert "quizapp restore" in text
    assert not path.exists()


def test_damage_without_a_backup_is_said(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"junk" * 1000)
    with pytest.raises(BrokenData, match="no backup"):
        Store.open(path, backups=path.parent / "backups")


def test_damage_found_in_the_background_sets_the_file_aside_at_the_end(
    path: Path, answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, answer, 300)
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(whole[:middle] + b"\xa5" * 4096 + whole[middle + 4096 :])
    monkeypatch.setattr("quizapp.store.database.CHECKED_AT_OPEN", 0)
    store = Store.open(path)
    with pytest.raises(BrokenData, match="broken-"):
        store.close()
    assert not path.exists()


def test_folder_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(BrokenData, match="QUIZAPP_HOME") as error:
        Store.open(tmp_path / "data" / "quizapp.db")
    one_sentence(error)


@pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX matter")
def test_read_only_folder_is_one_sentence(path: Path, answer) -> None:
    fill(path, answer)
    before = path.read_bytes()
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from quizapp.store import Store\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: Store.open(Path(sys.argv[1]))\n"
        "except Exception as error: print(type(error).__mro__[1].__name__, error)"
    )
    for folder in (path.parent, *path.parent.parents):  # another user must be able to look inside
        if folder.owner() == path.owner() and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    said = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    ).stdout
    path.parent.chmod(0o755)
    assert "writ" in said
    assert said.startswith(("BrokenData", "QuizError"))
    assert path.read_bytes() == before


def test_full_disk_keeps_what_was_there_and_says_so(store, answer) -> None:
    store.append(answer())
    pages = store.db.row("PRAGMA page_count")[0]
    store.db.connection.execute(f"PRAGMA max_page_count = {pages}")
    many = [answer(f"card-{index}", data={"typed": "x" * 500}) for index in range(200)]
    with pytest.raises(BrokenData, match="full") as error:
        any(store.append(draft) is None for draft in many)
    one_sentence(error)
    events = len(store.log.all())
    assert events >= 1
    store.db.connection.execute("PRAGMA max_page_count = 100000")
    store.append(answer("after"))
    assert len(store.log.all()) == events + 1


def test_busy_database_waits_and_then_says_so(path: Path, answer, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, answer)
    monkeypatch.setattr("quizapp.store.database.BUSY_MS", 50)
    holder = sqlite3.connect(path, isolation_level=None)
    with Store.open(path) as store:
        store.attach(CardReducer())
        store.db.connection.execute("PRAGMA busy_timeout = 50")
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="Another quizapp") as error:
            store.append(answer("late"))
        one_sentence(error)
        holder.execute("ROLLBACK")
        store.append(answer("late"))
    holder.close()


def test_a_short_wait_for_another_process_goes_unnoticed(path: Path, answer) -> None:
    fill(path, answer)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with Store.open(path) as store:
        store.attach(CardReducer())
        holder.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.1, lambda: holder.execute("ROLLBACK"))
        release.start()
        store.append(answer("patient"))
        release.join()
    holder.close()


def test_many_threads_and_processes_lose_nothing(path: Path, answer) -> None:
    fill(path, answer, 1)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from quizapp.store import Store\n"
        "from quizapp.scheduling.reducer import CardReducer\n"
        "from quizapp.scheduling.events import Draft, EventType, Moment\n"
        "with Store.open(Path(sys.argv[1])) as store:\n"
        "    store.attach(CardReducer())\n"
        "    for i in range(40):\n"
        "        when = Moment(1772438400000 + i, 0, 739677)\n"
        "        draft = Draft(EventType.ANSWER, when, card=f'q{i % 3}', rating=3, source=sys.argv[2])\n"
        "        store.append(draft)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("one", "two")]
    assert [process.wait(60) for process in running] == [0, 0]
    with Store.open(path) as store:
        store.attach(CardReducer())
        assert len(store.log.all()) == 81
        live = store.tables.snapshot()
        store.rebuild()
        assert store.tables.snapshot() == live


def test_migrations_run_once_each_with_their_record(path: Path) -> None:
    with Store.open(path) as store:
        assert applied(store.db.connection) == [step.__name__ for step in MIGRATIONS]
        assert pending(store.db.connection, path) == []


def test_a_migration_that_fails_leaves_no_trace_and_a_backup(path: Path, tmp_path: Path, answer) -> None:
    fill(path, answer)

    def add_colour(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE colours (name TEXT)")

    def burn(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE ashes (name TEXT)")
        raise ValueError("fire")

    database = Database(path)
    steps = pending(database.connection, path, (*MIGRATIONS, add_colour, burn))
    assert [step.__name__ for step in steps] == ["add_colour", "burn"]
    with pytest.raises(ValueError, match="fire"):
        migrate(database.connection, steps)
    tables = {name for (name,) in database.rows("SELECT name FROM sqlite_schema")}
    assert "colours" in tables
    assert "ashes" not in tables
    assert applied(database.connection)[-1] == "add_colour"
    database.close()


def test_backup_comes_before_a_migration(
    path: Path, tmp_path: Path, answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, answer)

    def add_colour(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE colours (name TEXT)")

    monkeypatch.setattr("quizapp.store.event_log.MIGRATIONS", (*MIGRATIONS, add_colour))
    backups = tmp_path / "backups"
    with Store.open(path, backups=backups) as store:
        assert applied(store.db.connection)[-1] == "add_colour"
    (kept,) = backups.glob("*-migration.db")
    copy = sqlite3.connect(kept)
    assert copy.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'colours'").fetchone() == (0,)
    copy.close()


def test_reading_what_is_pending_writes_nothing(path: Path) -> None:
    database = Database(path)
    assert len(pending(database.connection, path)) == len(MIGRATIONS)
    assert database.rows("SELECT name FROM sqlite_schema") == []
    database.close()


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        (sqlite3.SQLITE_FULL, BrokenData, "full"),
        (sqlite3.SQLITE_IOERR, BrokenData, "disk"),
        (sqlite3.SQLITE_READONLY, BrokenData, "written"),
        (sqlite3.SQLITE_CANTOPEN, BrokenData, "opened"),
        (sqlite3.SQLITE_CORRUPT, Corrupt, "damaged"),
        (sqlite3.SQLITE_BUSY, Busy, "moment"),
        (sqlite3.SQLITE_MISUSE, BrokenData, "doctor"),
    ],
)
def test_every_sqlite_error_has_a_sentence(code: int, kind: type, word: str) -> None:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code
    found = explain(error, Path("/data/quizapp.db"))
    assert isinstance(found, kind)
    assert word in str(found)
