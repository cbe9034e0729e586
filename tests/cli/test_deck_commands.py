"""The user's own decks: added, checked, removed, and spoiled after they were added."""

import json
from pathlib import Path

import pytest

from tests.cli.calling import run

pytestmark = pytest.mark.slow

DECK = """topic: mine
questions:
  - id: my-question
    level: easy
    kind: cloze
    prompt: Fill in.
    answer: It is so.
    exercise: warmup
    text: "A [[gap]]."
"""


def test_own_deck_joins_the_bank(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK)
    assert run(capsys, "deck", "add", str(deck))[0] == 0
    assert "my-question" in run(capsys, "questions")[1]
    assert str(deck) in run(capsys, "deck", "list")[1]
    assert run(capsys, "deck", "remove", str(deck))[0] == 0
    assert "my-question" not in run(capsys, "questions")[1]


def test_a_faulty_deck_leaves_the_rest_working(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK)
    run(capsys, "deck", "add", str(deck))
    deck.write_text(DECK.replace("answer", "anwser"))
    code, out, err = run(capsys, "questions")
    assert code == 0
    assert "lr-warmup" in out
    assert err == "quizapp: 2 faults in the content; 'quizapp check' names them\n"


def test_check_of_a_deck_names_line_and_remedy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK.replace("answer", "anwser"))
    code, out, _ = run(capsys, "check", str(deck))
    assert code == 1
    assert f"{deck}:3: question 'my-question': unknown key 'anwser'; did you mean 'answer'?" in out
    assert out.splitlines()[-1].endswith(": 2 faults")
    deck.write_text(DECK + "    mood: good\n")
    assert run(capsys, "check", str(deck))[1].splitlines()[-1].endswith(": 1 fault")


SPOILED = {
    "formula": (
        DECK.replace("kind: cloze", "kind: numeric").replace('text: "A [[gap]]."', "formula: 1 / n")
        + "    values: {n: [0]}\n    tolerance: 1%\n    worked: '{result}'\n"
    ),
    "tower": (
        DECK.replace("kind: cloze", "kind: numeric").replace(
            'text: "A [[gap]]."', "formula: ((9**400)**400)**40"
        )
        + "    values: {n: [0]}\n    tolerance: 1%\n    worked: '{result}'\n"
    ),
    "list-as-key": DECK + "    ? [a, b]\n    : c\n",
    "nested": DECK + "    tags: " + "[" * 50_000,
    "binary": "\x00\x01",
    "escape": DECK.replace("my-question", '"\\e[2Jmy"'),
    "clean": DECK.replace("It is so.", '"\\e[2Jso"'),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_deck_that_was_good_when_added_stops_no_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK)
    assert run(capsys, "deck", "add", str(deck))[0] == 0
    assert run(capsys, "answer", "my-question", "again")[0] == 0
    deck.write_text(SPOILED[name])
    commands = (
        ["due"],
        ["questions"],
        ["stats"],
        ["show", "lr-warmup"],
        ["exercise"],
        ["answer", "lr-warmup", "good"],
    )
    for command in (*commands, [], ["deck", "list"], ["export", "markdown", str(tmp_path / "book")]):
        code, out, err = run(capsys, *command)
        assert code == 0, (command, err)
        assert "\x1b" not in out + err
    code, out, err = run(capsys, "show", "my-question")
    assert code == (0 if name == "clean" else 2)
    assert "\x1b" not in out + err
    code, out, err = run(capsys, "check", str(deck))
    assert code == (0 if name == "clean" else 1)
    assert "\x1b" not in out + err


@pytest.mark.usefixtures("warm_judge")
def test_a_spoiled_deck_does_not_stop_the_judge(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK)
    run(capsys, "deck", "add", str(deck))
    deck.write_text(SPOILED["nested"])
    run(capsys, "exercise", "warmup")
    code, out, err = run(capsys, "grade", "warmup")
    assert (code, err) == (1, "")
    assert "failed" in out


def test_a_faulty_deck_is_not_added(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(SPOILED["formula"])
    code, _, err = run(capsys, "deck", "add", str(deck))
    assert code == 2
    assert f"{deck}:3: question 'my-question': '1 / n' divides by zero for n=0" in err


def test_a_topic_like_a_path_stays_within_the_book(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK.replace("topic: mine", "topic: ../../outside"))
    run(capsys, "deck", "add", str(deck))
    assert run(capsys, "export", "markdown", str(tmp_path / "a" / "b"))[0] == 0
    assert "my-question" in (tmp_path / "a" / "b" / "-outside.md").read_text()
    assert not list(tmp_path.glob("*.md"))


NOTES = "# Adapters\n\n## Why LoRA?\n- less memory\n- fewer gradients\n\n## Which rank?\n8 to 64.\n"


def test_notes_become_cards_with_one_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "notes.md"
    deck.write_text(NOTES)
    code, out, err = run(capsys, "deck", "add", str(deck))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"added {deck}",
        "2 cards from notes.md: Why LoRA? / Which rank?",
        "notes.md.ids.json holds their ids: keep it beside notes.md.",
        "Next: quizapp drill --topic notes",
    ]
    assert run(capsys, "deck", "list")[1] == f"{deck}  2 cards\n"
    listed = json.loads(run(capsys, "questions", "--json", "--topic", "notes")[1])
    assert [row["exercise"] for row in listed] == [None, None]
    assert run(capsys, "answer", listed[0]["id"], "good")[0] == 0
    deck.write_text(NOTES.replace("Why LoRA?", "What is LoRA good for?"))
    due = run(capsys, "due", "--json")[1]
    assert listed[0]["id"] in due


def test_a_folder_of_mixed_files_is_a_deck(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / ".hidden").mkdir(parents=True)
    (folder / "deck.yaml").write_text(DECK)
    (folder / "notes.md").write_text(NOTES + "\n## Later\n")
    (folder / "words.tsv").write_text("a\tb\nc\td\n")
    (folder / "README.md").write_text("## Not a card\nx\n")
    (folder / ".hidden" / "old.md").write_text("## Not a card\nx\n")
    code, out, err = run(capsys, "deck", "add", str(folder))
    assert code == 0
    assert "2 cards from words.tsv: a / c" in out
    assert out.endswith("Next: quizapp drill --topic mine (or notes, words)\n")
    assert f"quizapp: left out: {folder / 'notes.md'}:10: " in err
    assert run(capsys, "deck", "list")[1] == f"{folder}  5 cards, 1 fault\n"
    code, out, _ = run(capsys, "check", str(folder))
    assert code == 1
    assert out.startswith(f"{folder / 'notes.md'}:10: ")


@pytest.mark.exhaustive  # it checks every exercise
def test_a_check_of_everything_covers_own_decks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text(NOTES + "\n## Later\n")
    run(capsys, "deck", "add", str(notes))
    assert f"{notes}:10: " in run(capsys, "check")[1]


def test_notes_spoiled_later_stop_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "notes.md"
    deck.write_text(NOTES)
    run(capsys, "deck", "add", str(deck))
    deck.write_bytes(b"## a\n\xff\x00")
    code, out, err = run(capsys, "questions")
    assert code == 0
    assert "lr-warmup" in out
    assert err == "quizapp: 1 fault in the content; 'quizapp check' names them\n"
    assert run(capsys, "deck", "list")[1] == f"{deck}  0 cards, 1 fault\n"


def test_an_id_of_the_bank_is_refused_by_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    deck = tmp_path / "mine.yaml"
    deck.write_text(DECK.replace("my-question", "lr-warmup"))
    code, out, _ = run(capsys, "check", str(deck))
    assert code == 1
    assert f"{deck}:3: the id 'lr-warmup' is taken by" in out


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("notes.txt", "hello", "is not a deck; a deck is a YAML, Markdown or CSV file"),
        ("notes.md", "hello", "notes.md:1: has no card"),
        ("table.csv", "a\nb\n", "table.csv:1: has 1 column"),
        ("folder/notes.txt", "hello", "holds no file of cards"),
    ],
)
def test_what_is_no_deck_is_refused_with_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str, says: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    code, out, err = run(capsys, "deck", "add", str(tmp_path / name.split("/", maxsplit=1)[0]))
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
