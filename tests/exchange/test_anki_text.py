"""The bank as notes, imported by Anki itself."""

from pathlib import Path

import pytest
from anki.collection import Collection, ImportCsvRequest

from quizapp.bank.loader import load_bank
from quizapp.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture
def notes(tmp_path: Path, home: Path) -> Path:
    path = tmp_path / "bank.txt"
    assert main(["export", "anki", str(path)]) == 0
    return path


def taken(collection: Collection, path: Path):
    metadata = collection.get_csv_metadata(str(path), None)
    return collection.import_csv(ImportCsvRequest(path=str(path), metadata=metadata)).log


def test_anki_takes_every_question_once(notes: Path, tmp_path: Path) -> None:
    bank = load_bank()
    collection = Collection(str(tmp_path / "collection.anki2"))
    try:
        assert len(taken(collection, notes).new) == len(bank.questions)
        assert len(taken(collection, notes).new) == 0
        assert collection.note_count() == collection.card_count() == len(bank.questions)
        decks = {deck.name for deck in collection.decks.all_names_and_ids()}
        assert {f"quizapp::{bank.topics[q.topic].name}" for q in bank.questions.values()} <= decks
        found = {note.guid: note for note in map(collection.get_note, collection.find_notes(""))}
    finally:
        collection.close()
    for question in bank.questions.values():
        note = found[f"quizapp-{question.id}"]
        assert {question.level, question.kind, f"exercise::{question.exercise}"} <= set(note.tags)
        assert all(note.fields)


def test_angle_brackets_are_text_and_code_is_kept(notes: Path) -> None:
    text = notes.read_text(encoding="utf-8")
    assert "<pre><code" in text
    assert "<script" not in text
    assert "&lt;" in text


def test_a_file_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Path
) -> None:
    assert main(["export", "anki", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"quizapp: {tmp_path} cannot be written")


def test_a_whole_collection_is_not_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Path
) -> None:
    assert main(["export", "anki", str(tmp_path / "deck.COLPKG")]) == 2
    assert "deck.apkg" in capsys.readouterr().err
    assert not list(tmp_path.glob("deck*"))


@pytest.mark.parametrize("kind", ["anki", "json", "csv"])
def test_an_export_makes_no_folders(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nonexistent" / "x.txt"
    assert main(["export", kind, str(path)]) == 2
    assert "name a file in a folder that exists" in capsys.readouterr().err
    assert not path.parent.exists()
