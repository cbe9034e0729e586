"""Ids on disk: in the YAML file, or beside the deck; read-only, damaged, restored, and at the same time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.decks.find_decks import beside
from quizapp.bank.loader import load_bank, parse_bank
from quizapp.bank.model import Bank

NOTES = "# Notes\n\n## What is LoRA?\nAn adapter.\n\n## Why?\nMemory.\n"
YAML = """# my cards
questions:
  # the first
  - prompt: What is LoRA?   # in one sentence
    answer: An adapter.
  -   answer: "8 to 64"
      prompt: Which rank?
  - {prompt: Why?, answer: Memory.}
"""
READ = """
import sys
from pathlib import Path
from quizapp.bank.decks.read_deck import read_deck
questions = {}
print(read_deck(Path(sys.argv[1]), questions, {}, keep_ids=True), *questions)
"""


@pytest.fixture(autouse=True)
def _nothing_shipped(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of the test's own, and no shipped bank, whose reading takes a second."""
    nothing = tmp_path / "nothing"
    (nothing / "questions").mkdir(parents=True)
    monkeypatch.setattr(paths, "content", lambda: nothing)
    monkeypatch.setattr(paths, "exercises", lambda: nothing)


def write(folder: Path, name: str = "notes.md", text: str = NOTES) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def ids(*decks: Path) -> dict[str, str]:
    """The id of each prompt of some decks, which have no fault."""
    bank = load_bank(decks)
    assert [str(fault) for fault in bank.faults] == []
    return ids_in(bank)


def ids_in(bank: Bank) -> dict[str, str]:
    return {card.prompt: card.id for card in bank.questions.values()}


def reworded(folder: Path) -> tuple[Path, dict[str, str]]:
    """A deck of which one prompt was changed, with the ids that must stay."""
    deck = write(folder)
    first = ids(deck)
    write(folder, text=NOTES.replace("What is LoRA?", "How?"))
    wanted = {"How?": first["What is LoRA?"], "Why?": first["Why?"]}
    assert ids(deck) == wanted
    return deck, wanted


def test_ids_are_inserted_into_yaml_and_nothing_else_changes(tmp_path: Path) -> None:
    deck = write(tmp_path, "deck.yaml", YAML)
    names = ids(deck)
    lines = deck.read_text().splitlines()
    assert lines[3:6] == [
        f"  - id: {names['What is LoRA?']}",
        "    prompt: What is LoRA?   # in one sentence",
        "    answer: An adapter.",
    ]
    assert lines[-1] == f"  - {{id: {names['Why?']}, prompt: Why?, answer: Memory.}}"
    assert "  # the first" in lines
    assert not beside(deck).exists()
    before = deck.stat().st_mtime_ns
    assert ids(deck) == names
    assert deck.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "text",
    [
        YAML.replace("\n", "\r\n"),
        "\ufeff" + YAML,
        '{"questions": [{"prompt": "What is LoRA?", "answer": "b"}, {"prompt": "Why?", "answer": "c"}]}',
        "questions:\n- prompt: What is LoRA?\n  answer: |\n    ä 日本\n\n- prompt: Why?\n  answer: b",
        "questions:\n-\n  prompt: What is LoRA?\n  answer: b\n- # note\n  prompt: Why?\n  answer: b\n",
        "questions:\n- &a\n  prompt: What is LoRA?\n  answer: b\n- {? prompt : Why?, answer: b}\n",
    ],
)
def test_every_way_of_writing_yaml_keeps_the_ids(tmp_path: Path, text: str) -> None:
    deck = write(tmp_path, "deck.yaml", text)
    names = ids(deck)
    assert {"What is LoRA?", "Why?"} <= names.keys()
    content = deck.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf") == text.startswith("\ufeff")
    assert content.count(b"\r\n") == (content.count(b"\n") if "\r" in text else 0)
    assert ids(deck) == names


@pytest.mark.parametrize(
    "rest",
    [
        "  - {prompt: b, answer: c, id: ''}\n",
        "  - id:\n    prompt: Empty id\n    answer: a\n",
        "  - ? prompt\n    : x\n    answer: a\n",
    ],
)
def test_what_cannot_be_inserted_is_kept_beside_the_file(tmp_path: Path, rest: str) -> None:
    text = "questions:\n  - {prompt: Why?, answer: a}\n" + rest
    deck = write(tmp_path, "deck.yaml", text)
    names = ids(deck)
    assert deck.read_text() == text
    assert set(names.values()) == {row["id"] for row in json.loads(beside(deck).read_text())["cards"]}
    assert ids(deck) == names


def test_a_read_only_file_is_not_written(tmp_path: Path) -> None:
    deck = write(tmp_path, "deck.yaml", YAML)
    deck.chmod(0o444)
    names = ids(deck)
    assert deck.read_text() == YAML
    assert beside(deck).exists()
    deck.chmod(0o644)
    deck.write_text(YAML.replace("Which rank?", "What rank is usual?"))
    deck.chmod(0o444)
    assert ids(deck)["What rank is usual?"] == names["Which rank?"]


def test_an_editor_that_writes_the_old_text_back_loses_no_id(tmp_path: Path) -> None:
    deck = write(tmp_path, "deck.yaml", YAML)
    names = ids(deck)
    deck.write_text(YAML.replace("Which rank?", "What rank is usual?"))
    assert ids(deck)["What rank is usual?"] == names["Which rank?"]


def test_checking_writes_nothing(tmp_path: Path) -> None:
    decks = [write(tmp_path, "deck.yaml", YAML), write(tmp_path, text=NOTES.replace("Why?", "Where?"))]
    bank = parse_bank(decks, tmp_path / "none", tmp_path / "none")
    assert len(bank.questions) == 5
    assert decks[0].read_text() == YAML
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["deck.yaml", "notes.md"]


def test_a_reworded_heading_keeps_its_id(tmp_path: Path) -> None:
    deck = write(tmp_path)
    names = ids(deck)
    write(tmp_path, text=NOTES.replace("What is LoRA?", "How does LoRA work?") + "\n## New\nx\n")
    now = ids(deck)
    assert now["How does LoRA work?"] == names["What is LoRA?"]
    assert now["Why?"] == names["Why?"]


def test_a_card_whose_answer_is_missing_for_a_while_keeps_its_id(tmp_path: Path) -> None:
    deck = write(tmp_path)
    names = ids(deck)
    write(tmp_path, text=NOTES.replace("An adapter.", "").replace("What is LoRA?", "How?"))
    assert "'answer' is missing" in str(load_bank([deck]).faults[0])
    write(tmp_path, text=NOTES.replace("What is LoRA?", "How?"))
    assert ids(deck)["How?"] == names["What is LoRA?"]


def test_a_deleted_file_of_ids_is_restored_from_the_copy(tmp_path: Path) -> None:
    deck, wanted = reworded(tmp_path)
    beside(deck).unlink()
    assert ids(deck) == wanted
    assert beside(deck).exists()


def test_a_file_of_ids_of_an_older_commit_is_understood(tmp_path: Path) -> None:
    deck = write(tmp_path)
    ids(deck)
    old = beside(deck).read_bytes()
    deck, wanted = reworded(tmp_path)
    write(tmp_path, text="## Why?\nMemory.\n\n## How?\nAn adapter.\n")  # now its place says nothing
    assert ids(deck) == wanted
    beside(deck).write_bytes(old)
    assert ids(deck) == wanted


def test_a_file_of_ids_on_another_computer_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deck, wanted = reworded(tmp_path)
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "elsewhere"))
    assert ids(deck) == wanted


@pytest.mark.parametrize(
    "damage",
    [b"", b"\x00\xff", b"<<<<<<< HEAD\n", b"[]", b'{"format": "quizapp.deck-ids/2"}',
     b'{"format": "quizapp.deck-ids/1", "cards": [{"id": "A b", "prompt": "x"}]}',
     b'{"format": "quizapp.deck-ids/1", "cards": [{"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"}]}',
     b"[" * 100_000],
    ids=["empty", "binary", "conflict", "list", "newer", "wrong-id", "same-id", "nested"],
)  # fmt: skip
def test_a_damaged_file_of_ids_is_named_and_left_alone(tmp_path: Path, damage: bytes) -> None:
    deck, wanted = reworded(tmp_path)
    beside(deck).write_bytes(damage)
    bank = load_bank([deck])
    (fault,) = bank.faults
    assert fault.file == str(deck)
    assert "its file of ids, notes.md.ids.json, is damaged" in str(fault)
    assert ids_in(bank) == wanted
    assert beside(deck).read_bytes() == damage


def test_a_folder_that_cannot_be_written_is_remembered_elsewhere(tmp_path: Path) -> None:
    deck = write(tmp_path)
    beside(deck).mkdir()  # nobody, not even the superuser, can write a file here
    names = ids_in(load_bank([deck]))
    write(tmp_path, text=NOTES.replace("What is LoRA?", "How?"))
    assert ids_in(load_bank([deck]))["How?"] == names["What is LoRA?"]


def test_ids_that_can_be_kept_nowhere_are_a_fault(tmp_path: Path) -> None:
    deck = write(tmp_path)
    beside(deck).mkdir()
    paths.deck_ids().parent.mkdir(parents=True, exist_ok=True)
    paths.deck_ids().write_text("in the way")
    bank = load_bank([deck])
    assert ["the ids of its cards cannot be kept" in str(fault) for fault in bank.faults] == [True]
    assert len(bank.questions) == 2


def test_a_renamed_deck_takes_its_ids_along(tmp_path: Path) -> None:
    deck, wanted = reworded(tmp_path)
    renamed = deck.rename(tmp_path / "adapters.md")
    assert ids(renamed) == wanted
    assert beside(renamed).exists()


def test_a_repeated_prompt_is_a_fault_with_its_line(tmp_path: Path) -> None:
    deck = write(tmp_path, text=NOTES + "\n## What  is LoRA?\nAgain.\n")
    bank = load_bank([deck])
    assert [str(fault) for fault in bank.faults] == [
        f"{deck}:9: has the same prompt as the card in line 3; reword one, or remove it"
    ]
    assert len(bank.questions) == 2


def test_cards_with_ids_of_their_own_may_share_a_prompt(tmp_path: Path) -> None:
    rows = [f'  - {{id: c{i}, kind: cloze, prompt: Fill in., answer: a, text: "[[{i}]]"}}' for i in (1, 2)]
    rows += ['  - {kind: cloze, prompt: Fill in., answer: a, text: "[[3]]"}']
    bank = load_bank([write(tmp_path, "deck.yaml", "questions:\n" + "\n".join(rows) + "\n")])
    assert (len(bank.questions), bank.faults) == (3, ())


def test_ids_that_another_deck_has_are_a_fault(tmp_path: Path) -> None:
    decks = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        decks.append(write(tmp_path / name))
    faults = load_bank(decks).faults
    assert len(faults) == 2
    assert all(fault.file == str(decks[1]) and "is taken by" in str(fault) for fault in faults)


def test_files_of_one_name_in_two_formats_are_two_decks(tmp_path: Path) -> None:
    decks = [write(tmp_path), write(tmp_path, "notes.csv", "Why?,Memory.\n")]
    bank = load_bank(decks)
    assert (len(bank.questions), bank.faults) == (3, ())


def test_a_deck_named_twice_is_read_once(tmp_path: Path) -> None:
    deck = write(tmp_path)
    assert len(ids(tmp_path, deck)) == 2


@pytest.mark.slow
def test_processes_that_read_at_the_same_time_agree(tmp_path: Path) -> None:
    deck = write(tmp_path)
    names = ids(deck).values()
    write(tmp_path, text=NOTES.replace("What is LoRA?", "How?") + "\n## New\nx\n")
    call = [sys.executable, "-c", READ, str(deck)]
    running = [subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(4)]
    answers = {process.communicate(timeout=120)[0] for process in running}
    assert len(answers) == 1
    assert {"[]", *names} < set(answers.pop().split())


@pytest.mark.parametrize("written", ["copy", "file"])
def test_a_kill_between_the_two_writes_loses_nothing(tmp_path: Path, written: str) -> None:
    deck = write(tmp_path)
    ids(deck)
    before = {path: path.read_bytes() for path in [*paths.deck_ids().glob("*.json"), beside(deck)]}
    assert len(before) == 2
    deck, wanted = reworded(tmp_path)
    for path, old in before.items():
        if (path == beside(deck)) == (written == "copy"):
            path.write_bytes(old)
    write(tmp_path, text=NOTES.replace("What is LoRA?", "How?") + "\n")
    assert ids(deck) == wanted
