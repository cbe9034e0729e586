"""What is remembered of a deck whose file does not hold the ids of its cards."""

from collections import Counter
from typing import Annotated, Literal

import msgspec

from quizapp.errors import ContentError

FORMAT: Literal["quizapp.deck-ids/1"] = "quizapp.deck-ids/1"
_CardId = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]


class KnownCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """A card, the prompt that it had when its deck was read last, and earlier prompts, newest first."""

    id: _CardId
    prompt: str
    former: list[str] = []


class IdDocument(msgspec.Struct, frozen=True):
    """The cards of a deck in order, and those that were in it once."""

    cards: list[KnownCard] = []
    gone: list[KnownCard] = []
    format: Literal["quizapp.deck-ids/1"] = FORMAT


def encode(document: IdDocument, deck: str) -> str:
    """The document as JSON with a card on each line, so that version control shows what changed."""
    about = (
        f"The ids of the cards of {deck}. Keep this file beside it: the history of each card hangs on its id."
    )
    parts = [f'{{"format": "{document.format}",\n"about": {_json(about)}']
    for name in ("cards", "gone"):
        rows = ",\n".join(_json(card) for card in getattr(document, name))
        parts.append(f'"{name}": [\n{rows}\n]' if rows else f'"{name}": []')
    return ",\n".join(parts) + "}\n"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def decode(data: bytes) -> IdDocument:
    """Read a document. Raises `ContentError` if it is damaged."""
    try:
        document = msgspec.json.decode(data, type=IdDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContentError(str(error)) from None
    counts = Counter(card.id for card in (*document.cards, *document.gone))
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ContentError(f"the id '{twice[0]}' is given to two cards")
    return document


def merged(first: IdDocument, second: IdDocument) -> IdDocument:
    """Everything that either document knows; the order and the prompts of the ``first`` one count."""
    mine = {card.id for card in (*first.cards, *first.gone)}
    theirs = {card.id: card for card in (*second.gone, *second.cards)}

    def enriched(card: KnownCard) -> KnownCard:
        other = theirs.get(card.id)
        if other is None:
            return card
        prompts = dict.fromkeys((*card.former, other.prompt, *other.former))
        return KnownCard(card.id, card.prompt, [text for text in prompts if text != card.prompt])

    return IdDocument(
        cards=[enriched(card) for card in first.cards],
        gone=[*map(enriched, first.gone), *(card for name, card in theirs.items() if name not in mine)],
    )
