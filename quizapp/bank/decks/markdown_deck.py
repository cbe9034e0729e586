"""Reads Markdown notes as cards: a heading is the prompt, and what follows it is the answer.

Every ``##`` is a card, and so is a ``#`` without a ``##`` below it; other ``#`` are titles. In a file without
``##``, the highest headings are the cards, apart from a single title on top. Deeper headings belong to the
answer. Headings inside code, quotations and lists are none.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from quizapp.bank import LEVELS
from quizapp.bank.decks.deck_file import MAX_HEADING, DeckFile
from quizapp.bank.decks.markdown_blocks import blocks
from quizapp.bank.yaml_loader import LINE, parse_yaml, read_text

MAX_LINES = 20_000
_CARD_LEVEL = 2
_FENCE = "---"


class _Heading(NamedTuple):
    """A heading. Lines count from 0; the text below it begins at ``after``."""

    level: int
    line: int
    after: int
    text: str


def read_markdown_deck(path: Path) -> DeckFile:
    """Read the cards of a Markdown file, and its faults."""
    deck = DeckFile(str(path))
    text, fault = read_text(path, "a Markdown file")
    if fault is not None:
        deck.faults, deck.whole = [fault], False
        return deck
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        deck.fault(1, f"has {len(lines):,} lines; split it, {MAX_LINES:,} is the limit")
        deck.whole = False
        return deck
    shared = _front_matter(lines, deck)
    headings = list(_headings("\n".join(lines)))
    cards, title = _cards_among(headings)
    deck.name = deck.name or title[:MAX_HEADING]
    ends = _ends(headings, len(lines))
    for number in cards:
        heading = headings[number]
        answer = "\n".join(lines[heading.after : ends[number]]).strip("\n")
        deck.cards.append({"prompt": heading.text, "answer": answer, **shared, LINE: heading.line + 1})
    if not deck.cards:
        deck.fault(1, "has no card; write each question as a heading (## Why ...?) and its answer below it")
    return deck


def _headings(text: str) -> Iterator[_Heading]:
    tokens = blocks(text)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            words = " ".join(inline.content.split())
            yield _Heading(int(token.tag[1:]), token.map[0], token.map[1], words)


def _cards_among(headings: Sequence[_Heading]) -> tuple[list[int], str]:
    """The numbers of the headings that are cards, and the title of the file or ""."""
    levels = sorted({heading.level for heading in headings})
    if not levels:
        return [], ""
    top = [number for number, heading in enumerate(headings) if heading.level == levels[0]]
    if _CARD_LEVEL not in levels:
        if top == [0] and len(levels) > 1:
            return [i for i, heading in enumerate(headings) if heading.level == levels[1]], headings[0].text
        return top, ""
    cards: list[int] = []
    titles: list[int] = []
    following = 0  # the level of the next title or card
    for number, heading in reversed([*enumerate(headings)]):
        if heading.level <= _CARD_LEVEL:
            (titles if heading.level < following else cards).append(number)
            following = heading.level
    return cards[::-1], headings[0].text if titles == [0] else ""


def _ends(headings: Sequence[_Heading], last: int) -> list[int]:
    """The line before which each heading's text ends: that of the next heading that is not deeper."""
    begins = [last] * 7  # by level, the line of the next heading
    ends = []
    for heading in reversed(headings):
        ends.append(min(begins[: heading.level + 1]))
        begins[heading.level] = heading.line
    return ends[::-1]


def _front_matter(lines: list[str], deck: DeckFile) -> dict[str, Any]:
    """Take what the front matter says of the deck, and return what it says of every card.

    Its lines are blanked, so that it is no text and the others keep their numbers. Keys of other programs
    are ignored.
    """
    if lines[0].rstrip() != _FENCE:
        return {}
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, "...")), None)
    if end is None:
        return {}
    data, fault = parse_yaml("\n".join(lines[1:end]), deck.file)
    if fault is None and data is not None and not isinstance(data, dict):
        return {}  # text between two rules
    lines[: end + 1] = [""] * (end + 1)
    if fault is not None:
        deck.fault(fault.line + 1, f"its front matter {fault.message}")
        return {}
    data = data or {}
    deck.topic = _words(data.get("topic"))
    deck.name = _words(data.get("name")) or _words(data.get("title"))
    deck.about = _words(data.get("about"))
    shared: dict[str, Any] = {}
    if (level := _words(data.get("level")).casefold()) in LEVELS:
        shared["level"] = level
    elif level:
        deck.fault(2, f"level must be one of {', '.join(LEVELS)}, not '{level[:40]}'")
    if tags := split_tags(data.get("tags")):
        shared["tags"] = tags
    return shared


def _words(value: object) -> str:
    return str(value).strip()[:MAX_HEADING] if isinstance(value, str | int | float) else ""


def split_tags(value: object) -> list[str]:
    """Tags as a list, from a list or from words with commas, semicolons or spaces between them."""
    if isinstance(value, str):
        value = re.split(r"[,;]" if re.search("[,;]", value) else r"\s", value)
    tags = value if isinstance(value, list) else []
    words = (str(tag).strip().lstrip("#") for tag in tags if isinstance(tag, str | int | float))
    return [word for word in words if word]
