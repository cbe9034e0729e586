"""Ids for cards that name none: made from deck and prompt, and recognized again after the deck was edited.

The learner's history hangs on the id. A card therefore keeps the id of its first prompt for good, wherever
it moves within its deck and however its prompt is reworded.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from quizapp.bank.decks.id_document import IdDocument, KnownCard

_DECK_CHARACTERS, _PROMPT_CHARACTERS = 24, 48  # of the readable part
_LIKE, _VERY_LIKE = 0.6, 0.8  # shares of common words from which two prompts are taken for one
_ASKING = frozenset(
    {"a", "an", "and", "are", "can", "do", "does", "for", "how", "in", "is", "it", "its", "of", "the", "to",
     "what", "when", "where", "which", "who", "why", "with", "you"}
)  # fmt: skip
"""Words that most questions have in common."""
_MOST_PAIRS = 40_000
_MOST_FORMER, _MOST_GONE = 5, 2000


class SeenCard(NamedTuple):
    """A card as its deck holds it now: its prompt on one line, and the id that the file itself names."""

    prompt: str
    own_id: str = ""


def new_id(deck: str, prompt: str, taken: Collection[str]) -> str:
    """An id that is not ``taken``: readable words of the deck's file name and the prompt, and their hash."""
    words = [
        part
        for part in (_slug(deck.rsplit(".", 1)[0], _DECK_CHARACTERS), _slug(prompt, _PROMPT_CHARACTERS))
        if part
    ]
    number = 0
    while True:
        text = "\0".join([deck, prompt, *([str(number)] if number else [])])
        name = "-".join([*words, hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]])
        if name not in taken:
            return name
        number += 1


def _slug(text: str, most: int) -> str:
    plain = unicodedata.normalize("NFKD", text[: 4 * most]).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall("[a-z0-9]+", plain))
    if len(slug) <= most:
        return slug
    return slug[: most + 1].rsplit("-", 1)[0][:most]


def give_ids(deck: str, cards: Sequence[SeenCard], known: IdDocument) -> list[str]:
    """The id of each card, in order: its own, that of the known card that it is, or a new one.

    A known card is recognized by its prompt, then by a former prompt of its, then by its place between the
    same neighbors. What is left is recognized by most of its words.
    """
    matching = _Matching(cards, known)
    matching.by_prompt()
    matching.by_place()
    matching.by_words()
    taken = {*matching.taken, *(card.id for card in (*known.cards, *known.gone))}
    for place, card in enumerate(cards):
        if not matching.ids[place]:
            matching.ids[place] = new_id(deck, card.prompt, taken)
            taken.add(matching.ids[place])
    return matching.ids


def remembered(cards: Sequence[SeenCard], ids: Sequence[str], known: IdDocument) -> IdDocument:
    """What to remember of a deck: its cards in order with their former prompts, and those that are gone."""
    before = {card.id: card for card in (*known.gone, *known.cards)}
    now = []
    for card, name in zip(cards, ids, strict=True):
        old = before.pop(name, None)
        prompts = (old.prompt, *old.former) if old else ()
        former = [text for text in dict.fromkeys(prompts) if text != card.prompt]
        now.append(KnownCard(name, card.prompt, former[:_MOST_FORMER]))
    left = [card for card in (*known.cards, *known.gone) if before.pop(card.id, None)]
    return IdDocument(cards=now, gone=left[:_MOST_GONE])


class _Run(NamedTuple):
    """Neighboring entries that are not matched yet, between two that are; "" is an end of the deck."""

    left: str
    right: str
    entries: list[int]

    @property
    def is_placed(self) -> bool:
        return bool(self.left or self.right) or len(self.entries) == 1


class _Matching:
    """The search for the known card that each card of a deck is."""

    def __init__(self, cards: Sequence[SeenCard], known: IdDocument) -> None:
        self.cards = cards
        self.known = known
        self.ids = [card.own_id for card in cards]
        self.taken = {card.own_id for card in cards if card.own_id}

    def _take(self, place: int, name: str) -> None:
        if not self.ids[place] and name not in self.taken:
            self.ids[place] = name
            self.taken.add(name)

    def by_prompt(self) -> None:
        """Recognize cards by the prompt that they have or had."""
        known, gone = self.known.cards, self.known.gone
        current = [[(card.prompt, card.id) for card in group] for group in (known, gone)]
        former = [[(text, card.id) for card in group for text in card.former] for group in (known, gone)]
        for pairs in (*current, *former):
            names: dict[str, list[str]] = {}
            for prompt, name in pairs:
                names.setdefault(prompt, []).append(name)
            for place, card in enumerate(self.cards):
                for name in names.get(card.prompt, ()):
                    self._take(place, name)

    def by_place(self) -> None:
        """Recognize changed prompts by their neighbors: both of them, else the one before or after."""
        for sides in (("left", "right"), ("left",), ("right",)):
            olds = {tuple(getattr(run, side) for side in sides): run for run in self._known_runs()}
            for new in self._new_runs():
                old = olds.get(tuple(getattr(new, side) for side in sides))
                if old is None:
                    continue
                if len(old.entries) == len(new.entries) and new.is_placed:
                    for place, index in zip(new.entries, old.entries, strict=True):
                        self._take(place, self.known.cards[index].id)
                else:
                    self._by_likeness(new.entries, old.entries, _LIKE)

    def by_words(self) -> None:
        """Recognize what was moved and changed at the same time."""
        places = [place for place, name in enumerate(self.ids) if not name]
        left = [index for index, card in enumerate(self.known.cards) if card.id not in self.taken]
        self._by_likeness(places, left, _VERY_LIKE)

    def _by_likeness(self, places: Sequence[int], indices: Sequence[int], least: float) -> None:
        if len(places) * len(indices) > _MOST_PAIRS:
            return
        old = {index: _words(self.known.cards[index].prompt) for index in indices}
        new = {place: _words(self.cards[place].prompt) for place in places}
        pairs = ((_likeness(new[place], old[index]), place, index) for place, index in product(new, old))
        for _, place, index in sorted((pair for pair in pairs if pair[0] >= least), key=lambda p: -p[0]):
            self._take(place, self.known.cards[index].id)

    def _known_runs(self) -> Iterator[_Run]:
        return _runs((i, card.id if card.id in self.taken else "") for i, card in enumerate(self.known.cards))

    def _new_runs(self) -> list[_Run]:
        known = {card.id for card in self.known.cards}
        # A card that the file has named itself, or that is new to it, is no landmark in the old order.
        return list(_runs((i, name) for i, name in enumerate(self.ids) if not name or name in known))


def _runs(names: Iterable[tuple[int, str]]) -> Iterator[_Run]:
    """The runs of entries without a name, with the names beside them."""
    left, entries = "", list[int]()
    for place, name in names:
        if not name:
            entries.append(place)
            continue
        if entries:
            yield _Run(left, name, entries)
        left, entries = name, []
    if entries:
        yield _Run(left, "", entries)


def _words(text: str) -> frozenset[str]:
    words = frozenset(re.findall(r"\w+", text.casefold()))
    return words - _ASKING or words


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The common share of two sets of words, 0 to 1."""
    return len(one & other) / (len(one | other) or 1)
