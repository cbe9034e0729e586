import shutil
from pathlib import Path

import pytest

from quizapp.bank.decks.read_deck import read_deck
from quizapp.bank.loader import find_question, load_bank, parse_bank
from quizapp.bank.model import Question, Topic
from quizapp.errors import UnknownName
from quizapp.util.atomic import write_atomic
from tests.judge.field import DATA

GOOD = """topic: t
questions:
  - id: first
    level: easy
    kind: cloze
    prompt: Fill in.
    answer: It is so.
    exercise: warmup
    text: "A [[gap]]."
"""


def read(path: Path) -> tuple[dict[str, Question], list[str]]:
    questions: dict[str, Question] = {}
    topics: dict[str, Topic] = {}
    faults = read_deck(path, questions, topics)
    return questions, [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("    answer: It is so.\n", ""), 3, "'answer' is missing"),
        (("answer:", "anwser:"), 3, "did you mean 'answer'?"),
        (("level: easy", "level: trivial"), 3, "level must be one of easy, medium, hard"),
        (("kind: cloze", "kind: essay"), 3, "kind must be one of"),
        (("    level", "\tlevel"), 4, "a tab is used for indentation"),
        (("    level: easy\n", "    level: easy\n    level: hard\n"), 5, "given twice"),
        (("answer: It is so.", "answer: It is: so."), 7, "quote a text that contains ': '"),
        (("[[gap]]", "gap"), 3, "has no gap"),
        (("id: first", "id: First one"), 3, "id may hold a-z"),
    ],
)
def test_fault_names_file_line_and_remedy(
    tmp_path: Path, change: tuple[str, str], line: int, says: str
) -> None:
    path = tmp_path / "deck.yaml"
    assert change[0] in GOOD
    path.write_text(GOOD.replace(*change))
    questions, faults = read(path)
    assert not questions
    assert any(fault.startswith(f"{path}:{line}: ") and says in fault for fault in faults), faults


def test_good_questions_of_a_file_survive_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text(GOOD + GOOD.split("questions:\n")[1].replace("first", "second").replace("cloze", "essay"))
    questions, faults = read(path)
    assert list(questions) == ["first"]
    assert len(faults) == 1


def test_duplicate_id_names_the_other_place(tmp_path: Path) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text(GOOD + GOOD.split("questions:\n")[1])
    _, faults = read(path)
    assert f"the id 'first' is taken by {path}:3" in faults[0]


def test_huge_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text("# " + "x" * (10 << 20))
    questions, faults = read(path)
    assert not questions
    assert "10 MB; split it" in faults[0]


def test_bytes_that_are_no_text_are_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "deck.yaml"
    path.write_bytes(b"topic: \xff\xfe")
    assert "is not UTF-8" in read(path)[1][0]


def test_missing_deck_is_a_fault_and_the_rest_loads(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(GOOD)
    bank = parse_bank([good, tmp_path / "gone"], tmp_path / "none", tmp_path / "none")
    assert list(bank.questions) == ["first"]
    assert "does not exist" in str(bank.faults[0])


@pytest.mark.slow
def test_a_changed_file_is_seen_through_the_cache(tmp_path: Path) -> None:
    deck = tmp_path / "deck.yaml"
    deck.write_text(GOOD)
    assert "first" in load_bank([deck]).questions
    assert load_bank([deck]) == load_bank([deck], cache=False)
    deck.write_text(GOOD.replace("first", "renamed"))
    assert "renamed" in load_bank([deck]).questions


@pytest.mark.slow
def test_a_broken_cache_is_ignored(tmp_path: Path, home: Path) -> None:
    expected = load_bank()
    for cache in (home / "cache").iterdir():
        write_atomic(cache, cache.read_bytes()[:1000])  # replaced, because all tests share the file itself
    assert load_bank().questions == expected.questions


def test_former_ids_lead_to_the_question(tmp_path: Path) -> None:
    deck = tmp_path / "deck.yaml"
    deck.write_text(GOOD + "    aliases: [former]\n")
    bank = load_bank([deck])
    assert find_question(bank, "former").id == "first"
    with pytest.raises(UnknownName, match="did you mean 'first'"):
        find_question(bank, "firts")


def test_content_hash_ignores_links_and_sees_wording(tmp_path: Path) -> None:
    deck = tmp_path / "deck.yaml"
    hashes = []
    for text in (GOOD, GOOD + "    tags: [x]\n", GOOD.replace("It is so", "It is not so")):
        deck.write_text(text)
        hashes.append(read(deck)[0]["first"].content_hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_exercises_come_in_the_order_of_the_paths_and_an_unknown_one_is_a_fault(tmp_path: Path) -> None:
    for slug in ("blend", "riddle", "walled"):
        shutil.copytree(DATA / slug, tmp_path / "exercises" / slug)
    order = tmp_path / "paths.yaml"
    order.write_text("exercises: [walled, nobody, blend]\n")
    bank = parse_bank([], order, tmp_path / "exercises")
    assert list(bank.exercises) == ["walled", "blend", "riddle"]
    assert any("'nobody', which does not exist" in fault.message for fault in bank.faults)


@pytest.mark.slow
def test_a_changed_deck_costs_no_second_reading_of_the_shipped_questions(tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(GOOD)
    load_bank([deck])
    deck.write_text(GOOD.replace("It is so.", "It is not so."))
    files: list[int] = []
    bank = load_bank([deck], lambda _, total: files.append(total))
    assert files == [1]
    assert bank.questions["first"].answer == "It is not so."
    whole = load_bank([deck], cache=False)
    assert list(bank.questions) == list(whole.questions)
    assert bank == whole
