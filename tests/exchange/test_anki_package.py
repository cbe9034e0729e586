"""The bank and its history as a package that Anki itself opens."""

import json
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.cli.main import main
from quizapp.exchange.anki.package_export import write_package
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.store.event_log import Store
from tests.exchange.anki_collections import complaints, opened, rows, take

pytestmark = pytest.mark.slow


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime.now(UTC).replace(hour=12) - timedelta(days=40))


@pytest.fixture
def study(home: Path, clock: FixedClock):
    bank = load_bank()
    # Sixty questions from all topics: packing all of them takes seconds.
    part = dict(islice(bank.questions.items(), 0, None, len(bank.questions) // 60))
    with Study(replace(bank, questions=part), Store.open(paths.database()), clock=clock) as study:
        yield study


def learn(study: Study, clock: FixedClock) -> list[str]:
    """Answer, undo, suspend, bury and flag until a card of each state exists; return the ids in use."""
    reviewed, lapsed, learning, undone, suspended, buried = list(study.bank.questions)[:6]
    for card in (reviewed, lapsed, suspended):
        study.answer(card, 3, seconds=7)
        clock.forward(minutes=11)
        study.answer(card, 3, seconds=5)
    study.suspend(suspended)
    clock.forward(days=5)
    study.answer(lapsed, 1)
    clock.forward(days=29)
    study.answer(reviewed, 4, seconds=12.5)
    study.answer(learning, 3)
    study.answer(undone, 3)
    study.undo()
    study.bury(buried)
    study.flag(reviewed)
    return [reviewed, lapsed, learning, undone, suspended, buried]


def test_anki_opens_a_package_with_all_notes_and_the_whole_history(
    study: Study, clock: FixedClock, tmp_path: Path
) -> None:
    used = learn(study, clock)
    package = tmp_path / "bank.apkg"
    written = write_package(study, package)
    bank, states = study.bank, {row.card: row for row in study.cards()}
    with opened(tmp_path / "anki.anki2") as anki:
        log = take(anki, package)
        assert len(log.new) == written.notes == len(bank.questions) == anki.card_count()
        assert not complaints(anki)
        notes = {note.guid: note for note in map(anki.get_note, anki.find_notes(""))}
        assert set(notes) == {f"quizapp-{card}" for card in bank.questions}
        cards = {}
        for question in bank.questions.values():
            note = notes[f"quizapp-{question.id}"]
            assert {question.level, question.kind} <= set(note.tags)
            (card,) = note.cards()
            assert anki.decks.name(card.did) == f"quizapp::{bank.topics[question.topic].name}"
            cards[question.id] = card
        reviewed, lapsed, learning, undone, suspended, buried = (cards[card] for card in used)
        assert [(c.type, c.queue) for c in (reviewed, lapsed, learning, undone, suspended, buried)] == [
            (2, 2), (3, 1), (1, 1), (0, 0), (2, -1), (0, -3)
        ]  # fmt: skip
        row = states[used[0]]
        assert (reviewed.ivl, reviewed.reps, reviewed.lapses) == (row.interval // 86400, row.reps, row.lapses)
        assert reviewed.flags & 7 == 1
        assert reviewed.memory_state.stability == pytest.approx(row.stability, abs=1e-3)
        assert reviewed.memory_state.difficulty == pytest.approx(row.difficulty, abs=1e-3)
        assert (
            anki.sched.today + row.due_day - study.now().day - 6
            <= reviewed.due
            <= (anki.sched.today + row.due_day - study.now().day)
        )
        history = rows(anki, "select cid, ease, ivl, time, type, id from revlog order by id")
        kept = [review for card in used for review in study.store.tables.reviews(card=card)]
        assert len(history) == written.reviews == len(kept) == 9
        assert [row[1:5] for row in history if row[0] == reviewed.id] == [
            (3, -600, 7000, 0), (3, kept[1].interval // 86400, 5000, 0), (4, row.interval // 86400, 12500, 1)
        ]  # fmt: skip
        assert [row[5] for row in history if row[0] == reviewed.id] == [
            review.time for review in study.store.tables.reviews(card=used[0])
        ]


def test_importing_again_updates_notes_and_doubles_nothing(
    study: Study, clock: FixedClock, tmp_path: Path
) -> None:
    learn(study, clock)
    package = tmp_path / "bank.apkg"
    write_package(study, package)
    with opened(tmp_path / "anki.anki2") as anki:
        take(anki, package)
        counts = (anki.note_count(), anki.card_count(), rows(anki, "select count() from revlog"))
        clock.forward(days=1)
        write_package(study, package)
        log = take(anki, package)
        assert (len(log.new), len(log.updated)) == (0, counts[0])
        assert (anki.note_count(), anki.card_count(), rows(anki, "select count() from revlog")) == counts
        assert not complaints(anki)


def test_the_same_state_is_the_same_bytes(study: Study, clock: FixedClock, tmp_path: Path) -> None:
    learn(study, clock)
    first, second = tmp_path / "a.apkg", tmp_path / "b.apkg"
    write_package(study, first)
    write_package(study, second)
    assert first.read_bytes() == second.read_bytes()


def test_code_and_markup_arrive_as_text(study: Study, tmp_path: Path) -> None:
    package = tmp_path / "bank.apkg"
    write_package(study, package)
    with opened(tmp_path / "anki.anki2") as anki:
        take(anki, package)
        fields = "\n".join(field for note in map(anki.get_note, anki.find_notes("")) for field in note.fields)
    assert "<pre><code" in fields
    assert "<table" in fields
    assert "<script" not in fields


def test_the_command_replaces_an_older_package_in_one_step(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "bank.apkg"
    package.write_bytes(b"older")
    assert main(["export", "anki", str(package)]) == 0
    assert f"0 reviews written to {package}" in capsys.readouterr().out
    with zipfile.ZipFile(package) as archive:
        assert archive.namelist() == ["collection.anki2", "media"]
        assert json.loads(archive.read("media")) == {}
    assert [path.name for path in tmp_path.iterdir()] == [package.name]


def test_a_package_that_cannot_be_written_is_named(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder.apkg"
    folder.mkdir()
    for path in (folder, tmp_path / "missing" / "bank.apkg"):
        assert main(["export", "anki", str(path)]) == 2
        assert capsys.readouterr().err.startswith(f"quizapp: {path} cannot be written")
    assert not (tmp_path / "missing").exists()
