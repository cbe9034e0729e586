import csv
import json
import re
import sqlite3
from pathlib import Path

import pytest

from tests.cli.calling import run


def test_without_a_terminal_home_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert out.startswith("0 due, 20 new, about ")
    assert "\x1b" not in out


@pytest.mark.parametrize("command", [["drill"], ["mock"]])
def test_what_needs_a_terminal_says_so(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    code, out, err = run(capsys, *command)
    assert (code, out) == (2, "")
    assert "terminal" in err


def test_due_lists_new_cards_within_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "due", "--json")
    rows = json.loads(out)
    assert code == 0
    assert len(rows) == 20
    assert set(rows[0]) == {"id", "kind", "level", "topic", "due", "state"}
    assert {row["state"] for row in rows} == {"new"}


def test_due_can_be_filtered(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "due", "--json", "--topic", "precision", "--kind", "recall")[1])
    assert rows
    assert {(row["topic"], row["kind"]) for row in rows} == {("precision", "recall")}


def test_answer_prints_the_next_due_date_and_it_is_on_disk(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    code, out, _ = run(capsys, "answer", "lr-warmup", "easy")
    assert code == 0
    name, due = out.split()
    assert name == "lr-warmup"
    assert due > "2026"
    with sqlite3.connect(home / "quizapp.db") as database:
        assert database.execute("SELECT count(*) FROM events WHERE card = 'lr-warmup'").fetchone() == (1,)
    assert "lr-warmup" not in {row["id"] for row in json.loads(run(capsys, "due", "--json")[1])}


def test_answer_takes_a_former_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "answer", "lr-warmup-llm", "good")[1].startswith("lr-warmup ")


def test_stats_count_the_reviews_that_stand(capsys: pytest.CaptureFixture[str]) -> None:
    for rating in ("again", "good", "easy"):
        run(capsys, "answer", "adam-moments", rating)
    figures = json.loads(run(capsys, "stats", "--json")[1])
    assert figures["reviews"] == 3
    assert {"due", "new", "learned", "retention"} <= set(figures)
    assert "reviews    3" in run(capsys, "stats")[1]


def test_log_can_be_exported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "answer", "adam-moments", "good")
    run(capsys, "answer", "lr-warmup", "again")
    assert run(capsys, "export", "csv", str(tmp_path / "log.csv"))[0] == 0
    with (tmp_path / "log.csv").open() as file:
        assert [(row["card"], row["rating"]) for row in csv.DictReader(file)] == [
            ("adam-moments", "3"),
            ("lr-warmup", "1"),
        ]
    assert run(capsys, "export", "json", str(tmp_path / "log.json"))[0] == 0
    events = [json.loads(line) for line in (tmp_path / "log.json").read_text().splitlines()]
    assert [event["card"] for event in events if event["type"] == "answer"] == ["adam-moments", "lr-warmup"]


def test_backups_are_listed_and_restored(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no backups yet" in run(capsys, "restore")[1]
    run(capsys, "answer", "adam-moments", "good")
    run(capsys, "due")
    listing = run(capsys, "restore")[1]
    name = listing.split()[0]
    code, out, _ = run(capsys, "restore", name)
    assert code == 0
    assert f"restored {name}" in out
    code, _, err = run(capsys, "restore", "no-such-backup")
    assert code == 2
    assert "lists them" in err


@pytest.mark.judge
def test_doctor_finds_a_good_installation(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0, out
    for name in ("python", "torch", "isolation", "database"):
        assert name in out
    assert re.search(r"isolation +T\d, (shut off from|memory and|a deadline)", out)


@pytest.mark.judge
def test_doctor_names_a_wrong_setting(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text("\nnew_per_day = 'many'\n")
    code, out, _ = run(capsys, "doctor")
    assert code == 1
    bad = [line for line in out.splitlines() if line.startswith("BAD")]
    assert len(bad) == 1
    assert f"{home / 'config.toml'}:2: new_per_day must be a whole number" in bad[0]


def test_unwritable_data_folder_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "file" / "home"))
    code, _, err = run(capsys, "due")
    assert code in (2, 3)
    assert err.count("\n") == 1
    assert str(tmp_path / "file") in err


def test_database_from_the_future_is_refused_and_left_alone(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    run(capsys, "answer", "adam-moments", "good")
    with sqlite3.connect(home / "quizapp.db") as database:
        database.execute("INSERT INTO migrations (name) VALUES ('step_from_the_future')")
    before = (home / "quizapp.db").read_bytes()
    code, _, err = run(capsys, "due")
    assert code == 3
    assert err.count("\n") == 1
    assert (home / "quizapp.db").read_bytes() == before


def test_wrong_setting_names_its_line(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "config.toml").write_text("# mine\nnew_per_day = 10\ndesired_retention = 5\n")
    code, _, err = run(capsys, "due")
    assert code == 2
    assert "config.toml" in err
    assert "3" in err
