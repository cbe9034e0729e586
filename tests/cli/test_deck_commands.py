"""The user's own decks: added, checked, removed, and spoiled after they were added."""

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
