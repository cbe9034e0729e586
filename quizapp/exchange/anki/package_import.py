"""Imports an Anki package: its notes as a deck of YAML files, its review log as events of the log."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.bank.model import Bank
from quizapp.errors import QuizError
from quizapp.exchange.anki.imported_cards import ImportedCard, ImportedNotes, import_cards
from quizapp.exchange.anki.imported_deck import plan_deck
from quizapp.exchange.anki.imported_history import ImportedHistory, KnownAnswers, import_history
from quizapp.exchange.anki.package_archive import PackageError, unpack_database
from quizapp.scheduling.cards import ANKI
from quizapp.scheduling.events import EventType
from quizapp.scheduling.service import Study
from quizapp.settings.file import write_setting
from quizapp.settings.model import load_settings
from quizapp.store.apkg.anki_rows import AnkiCollection
from quizapp.store.apkg.collection_reader import CollectionError, read_collection
from quizapp.util.text import plural


class ImportedPackage(NamedTuple):
    """What an import has brought.

    ``cards`` counts the cards in the package with text on both sides, ``new`` and ``changed`` those of the
    deck in ``folder``. ``answers`` and ``states`` (suspended, buried, flagged, reset) are new events.
    ``losses`` are sentences about what was not taken over.
    """

    cards: int
    new: int
    changed: int
    answers: int
    states: int
    folder: Path
    losses: tuple[str, ...]


def import_package(path: Path) -> ImportedPackage:
    """Import the package at ``path``. Raises `QuizError`, and then nothing was changed.

    Importing again updates cards whose note has changed and adds reviews that are new.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="quizapp-anki-") as scratch:
            database = Path(scratch) / "collection"
            unpack_database(path, database)
            collection = read_collection(database)
        folder, bank = paths.imported_decks().resolve(), _user_bank()
        elsewhere = _elsewhere(bank, folder)
        notes = import_cards(collection, elsewhere)
        if not notes.cards:
            raise PackageError("it has no note with text on both sides")
    except (PackageError, CollectionError) as error:
        raise QuizError(
            f"{path} cannot be imported: {error}; nothing was changed, export it again from Anki"
        ) from None
    cards = _current(notes.cards, bank)
    ours = [card for card in cards if card.id not in elsewhere]
    deck = plan_deck(folder, ours, {bank.questions[name].topic for name in elsewhere})
    deck.write()
    if deck.files:
        _add_deck(folder)
    with Study.open() as study:
        history = _history(study, cards, collection)
        study.merge(history.events, [])
    answers = sum(event.type == EventType.ANSWER for event in history.events)
    states = len(history.events) - answers
    losses = tuple(_losses(notes, history))
    return ImportedPackage(len(cards), deck.new, deck.changed, answers, states, folder, losses)


def _user_bank() -> Bank:
    return load_bank([Path(deck).expanduser() for deck in load_settings(paths.config()).decks])


def _current(cards: list[ImportedCard], bank: Bank) -> list[ImportedCard]:
    """The cards under their present ids; links to exercises that do not exist are dropped."""
    return [
        card._replace(
            id=bank.resolve(card.id), exercise=card.exercise if card.exercise in bank.exercises else ""
        )
        for card in cards
    ]


def _elsewhere(bank: Bank, folder: Path) -> frozenset[str]:
    """The ids of questions that no import made: they stay as they are and gain the history."""
    return frozenset(
        question.id for question in bank.questions.values() if not Path(question.file).is_relative_to(folder)
    )


def _add_deck(folder: Path) -> None:
    decks = list(load_settings(paths.config()).decks)
    if str(folder) not in decks:
        write_setting(paths.config(), "decks", [*decks, str(folder)])


def _history(study: Study, cards: list[ImportedCard], collection: AnkiCollection) -> ImportedHistory:
    anki_cards = {card.id: card for card in collection.cards}
    rows = study.cards()
    hidden = {
        EventType.SUSPEND: frozenset(row.card for row in rows if row.suspended),
        EventType.FLAG: frozenset(row.card for row in rows if row.flagged),
    }
    history = import_history(
        [(card.id, anki_cards[card.anki_card]) for card in cards],
        collection.reviews,
        _known_answers(study),
        hidden,
        now=study.now().time,
        rollover_hour=study.settings.rollover_hour,
    )
    known = {event.id for event in study.events() if event.device == ANKI}
    history.events = [event for event in history.events if event.id not in known]
    return history


def _known_answers(study: Study) -> Mapping[str, KnownAnswers]:
    """The rated events of each card, undone ones too: an import must not bring those back."""
    answers: dict[str, list[tuple[int, int]]] = {}
    for event in study.events():
        if event.rating is not None and event.device != ANKI:
            answers.setdefault(study.bank.resolve(event.card), []).append((event.time, event.rating))
    return {card: KnownAnswers(tuple(sorted(times))) for card, times in answers.items()}


def _losses(notes: ImportedNotes, history: ImportedHistory) -> Iterator[str]:
    counted = {
        "note with pictures or sound: text only": notes.with_media,
        "note that hides parts of a picture: left out": notes.occlusions,
        "card without text on both sides: left out": notes.without_text,
        "card longer than 20,000 characters: left out": notes.too_long,
        "note or card without its note type: left out": notes.unknown,
        "answer in a filtered deck that does not reschedule: left out": history.crammed,
        "due date set by hand: left out": history.moved,
        "review with an impossible time, rating, or interval: left out": history.impossible,
    }
    for text, count in counted.items():
        noun, colon, rest = text.partition(":")
        first, space, more = noun.partition(" ")
        if count:
            yield f"{plural(count, first)}{space}{more}{colon}{rest}"
