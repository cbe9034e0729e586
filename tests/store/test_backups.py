"""Backups: taken at the start, thinned with age, restored without loss."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.errors import BrokenData
from quizapp.scheduling.reducer import CardReducer
from quizapp.store import Store
from quizapp.store.backups import (
    create_backup,
    is_good,
    list_backups,
    newest_good,
    restore,
    thin_out,
    times_to_keep,
)

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def fill(path: Path, answer, number: int) -> None:
    with Store.open(path) as store:
        store.attach(CardReducer())
        store.append(*(answer(f"q{index}") for index in range(number)))


def count(path: Path) -> int:
    database = sqlite3.connect(path)
    (found,) = database.execute("SELECT count(*) FROM events").fetchone()
    database.close()
    return int(found)


def test_a_start_takes_a_backup_of_what_is_new(path: Path, tmp_path: Path, answer) -> None:
    folder = tmp_path / "backups"
    fill(path, answer, 3)
    for _ in range(3):
        Store.open(path, backups=folder).close()
    (backup,) = list_backups(folder)
    assert backup.events == 3
    assert is_good(backup.path)
    assert sorted(file.suffix for file in folder.iterdir()) == [".db"]


def test_an_empty_database_is_not_backed_up(path: Path, tmp_path: Path) -> None:
    for _ in range(2):
        Store.open(path, backups=tmp_path / "backups").close()
    assert list_backups(tmp_path / "backups") == []


def test_scripts_that_start_often_do_not_fill_the_disk(path: Path, tmp_path: Path, answer) -> None:
    for number in range(3):
        with Store.open(path, backups=tmp_path / "backups") as store:
            store.attach(CardReducer())
            store.append(answer(f"q{number}"))
    assert len(list_backups(tmp_path / "backups")) == 1


def test_thinning_keeps_two_days_then_days_weeks_and_months() -> None:
    times = [NOW - timedelta(hours=6 * index) for index in range(4 * 400)]
    keep = sorted(times_to_keep(times, NOW), reverse=True)
    recent = [time for time in keep if NOW - time <= timedelta(days=2)]
    assert len(recent) == 9
    older = [time for time in keep if NOW - time > timedelta(days=2)]
    assert 12 + 6 <= len(older) <= 12 + 10 + 9
    assert len({time.date() for time in older}) == len(older)
    assert NOW - min(keep) > timedelta(days=240)
    daily = {(NOW - timedelta(days=days)).date() for days in range(3, 14)}
    assert daily <= {time.date() for time in older}


@given(st.lists(st.integers(0, 24 * 800).map(lambda hours: NOW - timedelta(hours=hours)), max_size=80))
def test_thinning_is_bounded_stable_and_keeps_the_newest(times) -> None:
    keep = times_to_keep(times, NOW)
    assert keep <= set(times)
    assert len([time for time in keep if NOW - time > timedelta(days=2)]) <= 31
    assert times_to_keep(sorted(keep), NOW) <= keep
    if times:
        assert max(times) in keep


def test_backups_taken_every_day_reach_back_months() -> None:
    kept: list[datetime] = []
    for day in range(365):
        now = NOW + timedelta(days=day)
        kept = sorted(times_to_keep([*kept, now], now))
    assert now - kept[0] > timedelta(days=200)
    assert len(kept) <= 34


def test_thin_deletes_files(tmp_path: Path, path: Path, answer) -> None:
    fill(path, answer, 1)
    for hours in (0, 1, 24 * 5, 24 * 5 + 1):
        create_backup(path, tmp_path, now=NOW - timedelta(hours=hours))
    (tmp_path / "notes.txt").write_text("mine")
    thin_out(tmp_path, NOW)
    assert [backup.time for backup in list_backups(tmp_path)] == [
        NOW,
        NOW - timedelta(hours=1),
        NOW - timedelta(days=5),
    ]
    assert (tmp_path / "notes.txt").exists()


def test_restore_keeps_what_was_there(path: Path, tmp_path: Path, answer) -> None:
    folder = tmp_path / "backups"
    fill(path, answer, 3)
    backup = create_backup(path, folder, now=NOW)
    fill(path, answer, 4)
    assert count(path) == 7
    kept = restore(path, backup.path, folder, now=NOW + timedelta(minutes=5))
    assert count(path) == 3
    assert count(kept) == 7
    restore(path, kept, folder, now=NOW + timedelta(minutes=6))
    assert count(path) == 7


def test_restored_database_goes_on_under_a_new_device(path: Path, tmp_path: Path, answer) -> None:
    fill(path, answer, 3)
    backup = create_backup(path, tmp_path, now=NOW)
    with Store.open(path) as store:
        store.attach(CardReducer())
        (replaced,) = store.append(answer("q9"))
    restore(path, backup.path, tmp_path, now=NOW + timedelta(minutes=5))
    with Store.open(path) as store:
        store.attach(CardReducer())
        (event,) = store.append(answer("q8"))
        assert event.device != replaced.device
        assert store.log.last_act().id == event.id
        assert store.merge([replaced]) == 1
        assert store.tables.card("q9") is not None


def test_restore_sets_a_damaged_database_aside(path: Path, tmp_path: Path, answer) -> None:
    fill(path, answer, 3)
    backup = create_backup(path, tmp_path, now=NOW)
    path.write_bytes(b"junk" * 999)
    kept = restore(path, backup.path, tmp_path, now=NOW)
    assert kept.read_bytes() == b"junk" * 999
    assert count(path) == 3


def test_damaged_backup_is_passed_over_and_refused(path: Path, tmp_path: Path, answer) -> None:
    folder = tmp_path / "backups"
    fill(path, answer, 3)
    good = create_backup(path, folder, now=NOW)
    bad = create_backup(path, folder, now=NOW + timedelta(hours=1))
    bad.path.write_bytes(b"junk")
    assert newest_good(folder).path == good.path
    with pytest.raises(BrokenData, match="choose another"):
        restore(path, bad.path, folder, now=NOW)
    assert count(path) == 3


def test_restore_works_while_another_process_has_the_file_open(path: Path, tmp_path: Path, answer) -> None:
    fill(path, answer, 3)
    backup = create_backup(path, tmp_path, now=NOW)
    with Store.open(path) as store:
        store.attach(CardReducer())
        store.append(answer("q7"))
        restore(path, backup.path, tmp_path, now=NOW + timedelta(minutes=1))
        assert len(store.log.all()) == 3
    assert count(path) == 3
