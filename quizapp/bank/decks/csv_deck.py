"""Reads a table of cards: CSV with commas, semicolons or tabs, with or without a line of column names."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from quizapp.bank.decks.deck_file import DeckFile
from quizapp.bank.decks.markdown_deck import split_tags
from quizapp.bank.yaml_loader import LINE, read_text
from quizapp.util.suggest import did_you_mean

MAX_ROWS, MAX_LINES = 20_000, 100_000
_SEPARATORS = "\t;,"  # of two that fit equally well, the first is the one that texts rarely hold by accident
_NAMES = {"tab": "\t", "semicolon": ";", "comma": ","}
_SAMPLE = 20
_COLUMNS = ("prompt", "answer", "level", "tags", "kind", "id", "say", "text", "exercise")
_OTHER_NAMES = {"front": "prompt", "question": "prompt", "back": "answer"}

_Row = tuple[int, list[str]]


def read_csv_deck(path: Path) -> DeckFile:
    """Read the cards of a CSV file, and its faults."""
    deck = DeckFile(str(path))
    text, fault = read_text(path, "a CSV file")
    if fault is not None:
        deck.faults, deck.whole = [fault], False
        return deck
    if (lines := text.count("\n")) > MAX_LINES:
        deck.fault(1, f"has {lines:,} lines; split it, {MAX_LINES:,} is the limit")
        deck.whole = False
        return deck
    separator = _separator(text)
    rows = _rows(text, separator)
    try:
        first = next(rows, None)
        if first is None:
            deck.fault(1, "is empty; write a card on each line, its prompt and its answer")
            return deck
        columns = _columns(first, deck)
        if columns is None:
            deck.whole = False
            return deck
        if not _is_header(first[1]):
            deck.cards += _card(first, columns, separator, deck)
        for number, row in enumerate(rows):
            if number >= MAX_ROWS:
                deck.fault(row[0], f"the rest is not read; split the file, {MAX_ROWS:,} rows is the limit")
                break
            deck.cards += _card(row, columns, separator, deck)
        if not deck.cards and not deck.faults:
            deck.fault(first[0], "has no cards below its header; write a card on each line")
    except _BrokenTableError as error:
        deck.fault(error.line, f"{error}; the rest of the file is not read")
        deck.whole = False
    return deck


class _BrokenTableError(Exception):
    """The file cannot be divided into rows from ``line`` on."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def _rows(text: str, separator: str) -> Iterator[_Row]:
    """The rows that hold anything, each with the line on which it begins. Raises `_BrokenTableError`."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _BrokenTableError(line, _reason(error)) from None
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:  # spreadsheets write empty cells at the end
            cells.pop()
        if cells:
            yield line, cells


def _reason(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "a double quote is opened here and never closed"
    if "expected after" in text:
        return 'text follows a closing double quote; write "" for a quote within quotes'
    if "field limit" in text:
        return "a cell is longer than 131,072 characters"
    return f"cannot be read as CSV ({text})"


def _separator(text: str) -> str:
    """The separator under which the first rows look most like cards."""

    def fit(separator: str) -> tuple[bool, int, int]:
        sample: list[list[str]] = []
        with suppress(_BrokenTableError):
            sample.extend(cells for _, cells in islice(_rows(text, separator), _SAMPLE))
        header = bool(sample) and _is_header(sample[0])
        pairs = sum(len(cells) == 2 for cells in sample)
        return header, pairs, sum(len(cells) > 1 for cells in sample)

    return max(_SEPARATORS, key=fit)


def _is_header(cells: Sequence[str]) -> bool:
    """Whether the first row names a column of prompts or of answers."""
    return bool({"prompt", "answer"} & {_column(cell) for cell in cells})


def _column(cell: str) -> str:
    name = cell.casefold()
    return _OTHER_NAMES.get(name, name)


def _columns(first: _Row, deck: DeckFile) -> list[str] | None:
    """The keys of the columns, "" for one that is not read; None if the prompts or answers are missing."""
    line, cells = first
    if not _is_header(cells):
        if len(cells) == 2:
            return ["prompt", "answer"]
        count = f"{len(cells)} column{'s' if len(cells) > 1 else ''}"
        deck.fault(line, f"has {count}, not prompt and answer; name the columns in the first line")
        return None
    for name in ("prompt", "answer"):
        if name not in map(_column, cells):
            deck.fault(line, f"has no column '{name}'; name it in the first line")
            return None
    columns: list[str] = []
    for cell in cells:
        name = _column(cell)
        if name not in _COLUMNS or name in columns:
            why = "is named twice" if name in columns else did_you_mean(name, _COLUMNS, "remove it", most=1)
            deck.fault(line, f"the column '{cell[:40]}' is not read: {why}")
            name = ""
        columns.append(name)
    return columns


def _card(row: _Row, columns: Sequence[str], separator: str, deck: DeckFile) -> list[dict[str, Any]]:
    """The card of a row; none if it has too many cells."""
    line, cells = row
    if len(cells) > len(columns):
        name = next(name for name, character in _NAMES.items() if character == separator)
        remedy = f"put a text that holds a {name} in double quotes"
        deck.fault(line, f"has {len(cells)} cells instead of {len(columns)}; {remedy}")
        return []
    card: dict[str, Any] = {key: cell for key, cell in zip(columns, cells, strict=False) if key and cell}
    if "tags" in card:
        card["tags"] = split_tags(card["tags"])
    for key in ("level", "kind"):
        if key in card:
            card[key] = card[key].casefold()
    return [{**card, LINE: line}]
