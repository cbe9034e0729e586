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

# Linear in the length of the text, whoever wrote it: no pattern looks for an end that may not be there.
_TAG = re.compile(r"\{\{\s{0,9}([#^/]?)\s{0,9}([^{}]{0,200}?)\s{0,9}\}\}")
_GAP_MARK = re.compile(r"(\{\{c[0-9]{1,4}::|\}\})")
_ANSWER_LINE = re.compile(r"<hr[^>]*\bid\s*=\s*[\"']?answer[^>]*>", re.IGNORECASE)
_MEDIA = re.compile(r"<(?:img|audio|video|object|source)\b|\[sound:", re.IGNORECASE)
_OCCLUSION = "image-occlusion:"
_MOST_HTML = 60_000  # characters of a template, or of one side before it is converted
_MOST_SECTIONS = 8  # within each other; the same for gaps


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
    if max(len(template.question), len(template.answer)) > _MOST_HTML:
        return None
    cloze = ordinal + 1 if kind.cloze else 0
    question = _rendered(template.question, fields, cloze, answered=False)
    answer = _rendered(_ANSWER_LINE.sub("", template.answer), fields, cloze, answered=True)
    if cloze and question == _rendered(template.question, fields, 0, answered=True):
        return None  # the gap that this card asks for was deleted from the text
    return question, answer


def _rendered(template: str, fields: Mapping[str, str], cloze: int, *, answered: bool) -> str:
    """A side of a card; a template for an answer does not repeat the question.

    A side that grows too long is cut there: it is left out anyway, and a template may name a field often.
    """
    parts: list[str] = []
    open_sections: list[tuple[str, bool]] = []  # the field, and whether its section is shown
    size = end = 0
    for tag in _TAG.finditer(template):
        literal, sign, name, end = template[end : tag.start()], tag[1], tag[2], tag.end()
        shown = all(present for _, present in open_sections)
        text = literal if shown else ""
        if sign == "/":
            if any(name == opened for opened, _ in open_sections):
                while open_sections.pop()[0] != name:
                    pass
        elif sign and len(open_sections) < _MOST_SECTIONS:
            open_sections.append((name, bool(fields.get(name, "").strip()) == (sign == "#")))
        elif shown and not sign:
            text += _value(name, fields, cloze, answered=answered)
        parts.append(text)
        size += len(text)
        if size > _MOST_HTML:
            return "".join(parts)
    if all(present for _, present in open_sections):
        parts.append(template[end:])
    return "".join(parts)


def _value(reference: str, fields: Mapping[str, str], cloze: int, *, answered: bool) -> str:
    """What ``{{filter:Field}}`` stands for."""
    *filters, name = reference.split(":")
    if name not in fields or ("type" in filters and not answered):
        return ""
    text = fields[name]
    return _with_gaps(text, cloze, answered=answered) if "cloze" in filters else text


def _with_gaps(text: str, number: int, *, answered: bool) -> str:
    """The text with the gaps of one card hidden, or shown in bold; the other gaps are plain text."""
    parts: list[str] = []
    open_gaps: list[tuple[int, int]] = []  # gap number, and where its text starts among the parts
    for piece in _GAP_MARK.split(text):
        start = _GAP_MARK.fullmatch(piece)
        if start and piece != "}}" and len(open_gaps) < _MOST_SECTIONS:
            open_gaps.append((int(piece[3:-2]), len(parts)))
        elif piece == "}}" and open_gaps:
            gap, first = open_gaps.pop()
            content, _, hint = "".join(parts[first:]).partition("::")
            del parts[first:]
            parts.append(_gap(content, hint, asked=gap == number, answered=answered))
        else:
            parts.append(piece)
    return "".join(parts)


def _gap(content: str, hint: str, *, asked: bool, answered: bool) -> str:
    if not asked:
        return content
    return f"<b>{content}</b>" if answered else f"[{hint or '...'}]"
