"""Tables of cards: separators, headers, quoted texts, and faults with their lines."""

from pathlib import Path

import pytest

from quizapp.bank.decks.csv_deck import read_csv_deck
from quizapp.bank.decks.deck_file import DeckFile
from quizapp.bank.yaml_loader import LINE


def read(folder: Path, text: str) -> DeckFile:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return read_csv_deck(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\nc,d\n", [(1, "a", "b"), (2, "c", "d")]),
        ("prompt,answer\na,b\n", [(2, "a", "b")]),
        ("\ufeffFront;Back\r\na;b\r\n", [(2, "a", "b")]),
        ("Question\tAnswer\na\tb, c; d\n", [(2, "a", "b, c; d")]),
        ("answer,prompt\nb,a\n", [(2, "a", "b")]),
        ('prompt,answer\n"a\nb","c ""d"""\n\ne,f\n', [(2, "a\nb", 'c "d"'), (5, "e", "f")]),
        (
            "What is a, b and c?;x\nWhat, then?;y\n",
            [(1, "What is a, b and c?", "x"), (2, "What, then?", "y")],
        ),
        ("a,b; c\nd,e; f\ng,h\n", [(1, "a", "b; c"), (2, "d", "e; f"), (3, "g", "h")]),
        ("a,b,,\nc,d\n", [(1, "a", "b"), (2, "c", "d")]),
    ],
)
def test_rows_are_cards(tmp_path: Path, text: str, expected: list[tuple[int, str, str]]) -> None:
    deck = read(tmp_path, text)
    assert [str(fault) for fault in deck.faults] == []
    assert [(card[LINE], card["prompt"], card["answer"]) for card in deck.cards] == expected


def test_more_columns_say_more(tmp_path: Path) -> None:
    text = 'prompt,answer,Level,tags,kind,text\na,b,Hard,"x, y z",,\nc,d,,p q,cloze,A [[gap]].\n'
    first, second = read(tmp_path, text).cards
    assert first == {"prompt": "a", "answer": "b", "level": "hard", "tags": ["x", "y z"], LINE: 2}
    assert (second["kind"], second["text"], second["tags"]) == ("cloze", "A [[gap]].", ["p", "q"])


@pytest.mark.parametrize(
    ("text", "line", "says", "cards"),
    [
        ("", 1, "is empty", 0),
        ("prompt,answer\n", 1, "has no cards below its header", 0),
        ("a\nb\n", 1, "has 1 column, not prompt and answer", 0),
        ("a,b,c\n", 1, "has 3 columns, not prompt and answer", 0),
        ("question,reply\na,b\n", 1, "has no column 'answer'", 0),
        ("prompt,answer,levle\na,b,easy\n", 1, "the column 'levle' is not read: did you mean 'level'?", 1),
        ("prompt,answer,front\na,b,c\n", 1, "is named twice", 1),
        (
            "a,b\nc,d,e\nf,g\n",
            2,
            "has 3 cells instead of 2; put a text that holds a comma in double quotes",
            2,
        ),
        ('a,b\nc,"d\ne,f\n', 2, "a double quote is opened here and never closed", 1),
        ('a,b\n"c"d,e\nf,g\n', 2, "text follows a closing double quote", 1),
        (f"a,b\nc,{'d' * 200_000}\n", 2, "a cell is longer than", 1),
    ],
    ids=range(11),
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, line: int, says: str, cards: int) -> None:
    deck = read(tmp_path, text)
    assert [(fault.line, says in str(fault)) for fault in deck.faults] == [(line, True)], deck.faults
    assert len(deck.cards) == cards


def test_other_encodings_are_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("a;ä\n".encode("latin-1"))
    assert "save it as UTF-8" in str(read_csv_deck(path).faults[0])
