"""Reads one file of questions into the bank: the shipped strictly, users' decks in the short form too."""

from pathlib import Path

from quizapp import paths
from quizapp.bank.decks.csv_deck import read_csv_deck
from quizapp.bank.decks.deck_file import DeckFile
from quizapp.bank.decks.find_decks import MARKDOWN_SUFFIXES, TABLE_SUFFIXES
from quizapp.bank.decks.markdown_deck import read_markdown_deck
from quizapp.bank.decks.name_cards import name_cards
from quizapp.bank.decks.parse_question import read_question
from quizapp.bank.decks.short_form import topic_slug
from quizapp.bank.decks.yaml_deck import read_yaml_deck
from quizapp.bank.model import Fault, Question, Topic
from quizapp.bank.parameters import try_formulas
from quizapp.errors import ContentError


def of_the_bank(path: Path) -> bool:
    """Whether a file belongs to a bank, shipped or in work, rather than to a user's deck.

    Every question of a bank has an exercise, an id, and the keys of its kind. A bank is known by the
    ``paths.yaml`` beside the folder of its questions.
    """
    return path.is_relative_to(paths.content()) or (path.absolute().parents[1] / "paths.yaml").is_file()


def read_deck(
    path: Path, questions: dict[str, Question], topics: dict[str, Topic], *, keep_ids: bool = False
) -> list[Fault]:
    """Add the valid questions of one file and its topic; returns the faults of the other questions.

    Cards without an id get one, which is written down only with ``keep_ids``.
    """
    deck, short = _read_file(path), not of_the_bank(path)
    file, topic, faults = str(path), deck.topic, deck.faults
    if not deck.cards and faults:
        return faults
    if short:
        name_cards(deck, keep=keep_ids)
    if not topic and short:
        topic = topic_slug(path.stem)
    elif not topic:
        deck.fault(1, "lacks 'topic'; name it at the top of the file")
        topic = path.stem
    topics.setdefault(topic, Topic(topic, deck.name or deck.topic or path.stem, deck.about))
    # The tests try the formulas of shipped questions, so skipping them here saves a third of a second.
    shipped = path.is_relative_to(paths.content())
    for item in deck.cards:
        question, question_faults = read_question(item, topic, file, short=short)
        if question is not None and not shipped:
            question_faults += formula_faults(question)
        faults += question_faults
        if question is None or question_faults:
            continue
        if question.id in questions:
            first = questions[question.id]
            remedy = "rename one, or remove one of the two cards"
            text = f"the id '{question.id}' is taken by {first.file}:{first.line}; {remedy}"
            faults.append(Fault(file, question.line, text))
        else:
            questions[question.id] = question
    return faults


def _read_file(path: Path) -> DeckFile:
    suffix = path.suffix.lower()
    if suffix in MARKDOWN_SUFFIXES:
        return read_markdown_deck(path)
    return read_csv_deck(path) if suffix in TABLE_SUFFIXES else read_yaml_deck(path)


def formula_faults(question: Question) -> list[Fault]:
    """Try the formulas of a numeric question. Returns one fault or none."""
    try:
        try_formulas(question)
    except ContentError as error:
        return [Fault(question.file, question.line, f"question '{question.id}': {error}", question.id)]
    return []
