"""Turns the notes of a collection into cards for the drill: question and answer as Markdown, one per card.

A note type's templates are rendered as Anki renders them, without scripts, styles, and media.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from quizapp.bank import KINDS, LEVELS
from quizapp.bank.decks.parse_question import ID, MAX_ENTRIES, MAX_ID, MAX_TERM, MAX_TEXT
from quizapp.exchange.anki.card_html import EXERCISE_TAG, GUID_PREFIX, ROOT_DECK
from quizapp.exchange.anki.html_to_markdown import to_markdown
from quizapp.store.apkg.anki_rows import AnkiCard, AnkiCollection, AnkiNote, NoteType

_FIELD = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_SECTION = re.compile(
    r"\{\{\s*([#^])\s*([^{}]*?)\s*\}\}((?:(?!\{\{\s*[#^]).)*?)\{\{\s*/\s*\2\s*\}\}", re.DOTALL
)
_ANSWER_LINE = re.compile(r"<hr[^>]*\bid\s*=\s*[\"']?answer[^>]*>", re.IGNORECASE)
_MEDIA = re.compile(r"<(?:img|audio|video|object|source)\b|\[sound:", re.IGNORECASE)
_OCCLUSION = "image-occlusion:"
_MOST_HTML = 200_000  # characters of one side, before it is converted
_MOST_CLOZE_DEPTH = 8


class ImportedCard(NamedTuple):
    """A card of a deck file. ``own`` says that the note came from quizapp, whose id it carries."""

    id: str
    anki_card: int
    deck: str
    prompt: str
    answer: str
    tags: tuple[str, ...]
    own: bool
    level: str = ""
    exercise: str = ""
    siblings: tuple[str, ...] = ()


@dataclass(slots=True)
class ImportedNotes:
    """The cards of a collection, and how many notes or cards lost something or were left out."""

    cards: list[ImportedCard] = field(default_factory=list)
    with_media: int = 0
    without_text: int = 0
    too_long: int = 0
    occlusions: int = 0
    unknown: int = 0


def import_cards(collection: AnkiCollection, elsewhere: Container[str] = ()) -> ImportedNotes:
    """Convert every card of ``collection`` that has text on both sides.

    Cards with an id in ``elsewhere`` need no text, because another deck has it.
    """
    imported = ImportedNotes()
    by_note: dict[int, list[AnkiCard]] = {}
    for card in collection.cards:
        by_note.setdefault(card.note, []).append(card)
    taken: set[str] = set()
    for note in collection.notes:
        kind = collection.note_types.get(note.note_type)
        if kind is None or len(note.fields) != len(kind.fields):
            imported.unknown += 1
            continue
        anki_cards = by_note.get(note.id, [])
        if len(anki_cards) == 1 and _card_id(note, anki_cards[0])[0] in elsewhere:
            imported.cards.append(_card(note, anki_cards[0], "", "", ""))
            continue
        cards = list(_note_cards(note, kind, anki_cards, collection, imported))
        # Two notes with one guid cannot both be kept, because cards are told apart by it.
        cards = [card for card in cards if card.id not in taken]
        names = [card.id for card in cards]
        taken.update(names)
        imported.cards += (
            card._replace(siblings=tuple(name for name in names if name != card.id)) for card in cards
        )
    return imported


def _note_cards(
    note: AnkiNote,
    kind: NoteType,
    cards: list[AnkiCard],
    collection: AnkiCollection,
    imported: ImportedNotes,
) -> Iterator[ImportedCard]:
    fields = dict(zip(kind.fields, note.fields, strict=True))
    if any(_OCCLUSION in text for text in note.fields):
        imported.occlusions += 1
        return
    imported.with_media += any(_MEDIA.search(text) for text in note.fields)
    for card in sorted(cards, key=lambda card: card.ordinal):
        sides = _sides(kind, card.ordinal, fields)
        if sides is None:
            imported.unknown += 1
            continue
        if max(map(len, sides)) > _MOST_HTML:
            imported.too_long += 1
            continue
        prompt, answer = map(to_markdown, sides)
        if not prompt or not answer:
            imported.without_text += 1
        elif max(len(prompt), len(answer)) > MAX_TEXT:
            imported.too_long += 1
        else:
            yield _card(note, card, collection.decks.get(card.deck, ""), prompt, answer)


def _card_id(note: AnkiNote, card: AnkiCard) -> tuple[str, bool]:
    """The id of a card, and whether it is quizapp's own: then the guid of the note contains it."""
    name = note.guid.removeprefix(GUID_PREFIX)
    if name != note.guid and len(name) <= MAX_ID and ID.fullmatch(name) and card.ordinal == 0:
        return name, True
    name = "anki-" + blake2b(note.guid.encode(), digest_size=8).hexdigest()
    return name + (f"-{card.ordinal + 1}" if card.ordinal else ""), False


def _card(note: AnkiNote, card: AnkiCard, deck: str, prompt: str, answer: str) -> ImportedCard:
    name, own = _card_id(note, card)
    deck = deck.removeprefix(f"{ROOT_DECK}::") if own else deck
    level = exercise = ""
    tags = note.tags
    if own:
        level = next((tag for tag in tags if tag in LEVELS), "")
        exercise = next((tag for tag in tags if tag.startswith(EXERCISE_TAG)), "")
        tags = tuple(tag for tag in tags if tag not in {*LEVELS, *KINDS, exercise})
    tags = tuple(tag[:MAX_TERM] for tag in map(_plain, tags) if tag)[:MAX_ENTRIES]
    exercise = exercise.removeprefix(EXERCISE_TAG)
    return ImportedCard(name, card.id, _plain(deck) or "Anki", prompt, answer, tags, own, level, exercise)


def _plain(text: str) -> str:
    """A tag or the name of a deck on one line, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()[:MAX_TERM]


def _sides(kind: NoteType, ordinal: int, fields: Mapping[str, str]) -> tuple[str, str] | None:
    """Question and answer as HTML; None if the note type makes no such card."""
    place = 0 if kind.cloze else ordinal
    if not 0 <= place < len(kind.templates) or ordinal < 0:
        return None
    template = kind.templates[place]
    cloze = ordinal + 1 if kind.cloze else 0
    question = _rendered(template.question, fields, cloze, answered=False)
    answer = _rendered(_ANSWER_LINE.sub("", template.answer), fields, cloze, answered=True)
    if cloze and question == _rendered(template.question, fields, 0, answered=True):
        return None  # the gap that this card asks for was deleted from the text
    return question, answer


def _rendered(template: str, fields: Mapping[str, str], cloze: int, *, answered: bool) -> str:
    """A side of a card; a template for an answer does not repeat the question."""

    def section(match: re.Match[str]) -> str:
        present = bool(fields.get(match[2], "").strip())
        return match[3] if present == (match[1] == "#") else ""

    for _ in range(_MOST_CLOZE_DEPTH):  # from the innermost section outward
        template, changed = _SECTION.subn(section, template)
        if not changed:
            break

    def value(match: re.Match[str]) -> str:
        *filters, name = match[1].split(":")
        if name == "FrontSide" or name not in fields:
            return ""
        if "type" in filters and not answered:
            return ""
        text = fields[name]
        return _with_gaps(text, cloze, answered=answered) if "cloze" in filters else text

    return _FIELD.sub(value, template)


_GAP_START = re.compile(r"\{\{c(\d{1,4})::")


def _with_gaps(text: str, number: int, *, answered: bool) -> str:
    """The text with the gaps of one card hidden, or shown in bold; the other gaps are plain text."""
    parts: list[str] = []
    stack: list[tuple[int, int]] = []  # gap number, and where its text starts among the parts
    place = 0
    while place < len(text):
        start = _GAP_START.match(text, place)
        if start and len(stack) < _MOST_CLOZE_DEPTH:
            stack.append((int(start[1]), len(parts)))
            place = start.end()
        elif stack and text.startswith("}}", place):
            gap, first = stack.pop()
            content, _, hint = "".join(parts[first:]).partition("::")
            del parts[first:]
            parts.append(_gap(content, hint, asked=gap == number, answered=answered))
            place += 2
        else:
            stop = min(
                at for at in (text.find("{{c", place + 1), text.find("}}", place + 1), len(text)) if at > 0
            )
            parts.append(text[place:stop])
            place = stop
    return "".join(parts)


def _gap(content: str, hint: str, *, asked: bool, answered: bool) -> str:
    if not asked:
        return content
    return f"<b>{content}</b>" if answered else f"[{hint or '...'}]"
