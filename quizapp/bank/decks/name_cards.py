"""Gives an id to every card of a user's deck that names none, and keeps it for good."""

import hashlib
from pathlib import Path
from typing import Any

from quizapp.bank.decks.card_ids import SeenCard, give_ids, remembered
from quizapp.bank.decks.deck_file import DeckFile
from quizapp.bank.decks.find_decks import YAML_SUFFIXES, beside
from quizapp.bank.decks.id_store import keep_ids, read_ids, turn
from quizapp.bank.decks.parse_question import ID, MAX_ID
from quizapp.bank.decks.yaml_ids import insert_ids
from quizapp.bank.model import Fault
from quizapp.bank.yaml_loader import LINE

_LONGEST = 2000  # characters of a prompt that are remembered as they are


def name_cards(deck: DeckFile, *, keep: bool) -> None:
    """Add the missing ids to ``deck.cards``, and faults for cards that cannot be told apart.

    With ``keep``, new ids are written into a YAML file, or else beside the deck. It is a fault if neither
    is possible.
    """
    path = Path(deck.file)
    if not any(map(_lacks_id, deck.cards)) and not beside(path).exists():
        return
    repeated = _repeated(deck)
    cards = _told_apart(deck, repeated)
    if keep and deck.whole:
        with turn() as alone:
            ids, faults = _named(deck, cards, keep=alone)
    else:
        ids, faults = _named(deck, cards, keep=False)
    deck.faults += faults
    for place, name in zip(cards, ids, strict=True):
        if _lacks_id(deck.cards[place]):
            deck.cards[place] = {**deck.cards[place], "id": name}
    deck.cards = [card for place, card in enumerate(deck.cards) if place not in repeated]


def _named(deck: DeckFile, cards: dict[int, SeenCard], *, keep: bool) -> tuple[list[str], list[Fault]]:
    path = Path(deck.file)
    known, faults = read_ids(path, [card.prompt for card in cards.values()])
    ids = give_ids(path.name, [*cards.values()], known)
    if not keep:
        return ids, faults
    document = remembered([*cards.values()], ids, known)
    if path.suffix.lower() in YAML_SUFFIXES and not beside(path).exists():
        # The copy comes first: an editor that still holds the old text may write it back over the ids.
        keep_ids(path, document, in_the_folder=False)
        lacking = {
            place: name for place, name in zip(cards, ids, strict=True) if _lacks_id(deck.cards[place])
        }
        if insert_ids(path, deck.cards, lacking):
            return ids, faults
    return ids, faults + keep_ids(path, document, in_the_folder=True)


def _repeated(deck: DeckFile) -> set[int]:
    """The places of cards without an id that have the prompt of an earlier card: nothing tells them apart."""
    lines: dict[str, int] = {}
    places = set()
    for place, card in enumerate(deck.cards):
        prompt = _identity(card)
        if prompt in lines and _lacks_id(card):
            text = f"has the same prompt as the card in line {lines[prompt]}; reword one, or remove it"
            deck.fault(card[LINE], text)
            places.add(place)
        elif prompt:
            lines.setdefault(prompt, card[LINE])
    return places


def _told_apart(deck: DeckFile, repeated: set[int]) -> dict[int, SeenCard]:
    """The cards that have a prompt and, if any, a valid id of their own, by their places."""
    cards: dict[int, SeenCard] = {}
    own_ids = set()
    for place, card in enumerate(deck.cards):
        prompt, own_id = _identity(card), _own_id(card)
        if not prompt or place in repeated or own_id in own_ids:
            continue
        if own_id and (len(own_id) > MAX_ID or not ID.fullmatch(own_id)):
            continue
        own_ids.update({own_id} - {""})
        cards[place] = SeenCard(prompt, own_id)
    return cards


def _own_id(card: Any) -> str:
    name = card.get("id") if isinstance(card, dict) else None
    return "" if name in (None, "") else str(name)


def _lacks_id(card: Any) -> bool:
    return isinstance(card, dict) and not _own_id(card)


def _identity(card: Any) -> str:
    """The prompt on one line, with the text of a cloze, whose prompt alone says little; "" without one."""
    if not isinstance(card, dict) or not isinstance(card.get("prompt"), str | int | float):
        return ""
    text = card.get("text")
    parts = f"{card['prompt']} {text if isinstance(text, str | int | float) else ''}".split()
    line = " ".join(parts).encode(errors="replace").decode()
    if len(line) <= _LONGEST:
        return line
    return f"{line[:_LONGEST]} {hashlib.sha256(line.encode()).hexdigest()}"
