"""Reads a YAML file of questions."""

from pathlib import Path

from quizapp.bank.decks.deck_file import MAX_HEADING, DeckFile
from quizapp.bank.yaml_loader import LINE, read_yaml

_KEYS = ("topic", "name", "about", "questions")


def read_yaml_deck(path: Path) -> DeckFile:
    """Read the heading and the cards of a YAML file, and its faults."""
    deck = DeckFile(str(path))
    data, fault = read_yaml(path)
    if fault is not None:
        deck.faults, deck.whole = [fault], False
        return deck
    if not isinstance(data, dict) or not isinstance(data.get("questions"), list):
        deck.fault(1, "must hold a list under 'questions:', each with a prompt and an answer")
        deck.whole = False
        return deck
    for key in data:
        if key not in (*_KEYS, LINE):
            deck.fault(1, f"unknown key '{str(key)[:40]}'; a file has topic, name, about, questions")
    deck.topic, deck.name, deck.about = (str(data.get(key) or "")[:MAX_HEADING] for key in _KEYS[:3])
    deck.cards = data["questions"]
    return deck
