"""Writes imported cards as a deck: one YAML file per deck of Anki, in a folder of the user's data."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from quizapp.bank.decks.find_decks import MAX_FILES
from quizapp.bank.decks.short_form import topic_slug
from quizapp.bank.yaml_loader import MAX_FILE_BYTES
from quizapp.errors import QuizError
from quizapp.exchange.anki.imported_cards import ImportedCard
from quizapp.util.atomic import write_atomic
from quizapp.util.sanitize import one_line

_HEAD = (
    "# Imported from Anki. Importing again rewrites prompt, answer, and tags of the cards that the package\n"
    "# holds; it keeps other cards, and every other key that you add, but no comments.\n"
)
_FILE_CHARACTERS = MAX_FILE_BYTES // 8  # escapes and scripts of four bytes a letter still fit

_OURS = frozenset({"tags", "siblings"})  # keys that a note may lose in Anki
_Card = dict[str, Any]


class DeckFileChange(NamedTuple):
    """A file to write; one without text is to be removed, because all its cards have moved."""

    path: Path
    text: str


class DeckChanges(NamedTuple):
    """The files that an import writes, and how many cards are new or have changed."""

    files: tuple[DeckFileChange, ...]
    new: int
    changed: int

    def write(self) -> None:
        """Write the files, each in one step. Raises `QuizError`."""
        for file in self.files:
            try:
                if file.text:
                    write_atomic(file.path, file.text, durable=True)
                else:
                    file.path.unlink(missing_ok=True)
            except OSError as error:
                raise QuizError(
                    f"{file.path} cannot be written: {error.strerror}; free space, or set QUIZAPP_HOME"
                ) from None


def plan_deck(folder: Path, cards: Iterable[ImportedCard], taken_topics: Collection[str]) -> DeckChanges:
    """Merge ``cards`` by id into the deck in ``folder``; nothing is written yet.

    ``taken_topics`` are those of other decks and of the bank: no imported deck joins one of them because of
    its name. Raises `QuizError` if a file of the deck cannot be read.
    """
    deck = _Deck()
    before = {path: _read(path) for path in sorted(folder.glob("*.yaml"))}
    for path, text in before.items():
        deck.load(*_parse(path, text))
    for card in cards:
        deck.merge(card, taken_topics)
    texts = dict(deck.files(folder))
    if len(texts) > MAX_FILES:
        raise QuizError(f"the package has more than {MAX_FILES} decks; export fewer of them from Anki")
    files = [DeckFileChange(path, text) for path, text in texts.items() if before.get(path) != text]
    files += [DeckFileChange(path, "") for path in sorted(before.keys() - texts.keys())]
    return DeckChanges(tuple(files), deck.new, deck.changed)


@dataclass(slots=True)
class _Deck:
    """The cards of all files: ``entries`` and ``topics`` by id, ``names`` by topic."""

    entries: dict[str, _Card] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    new: int = 0
    changed: int = 0

    def load(self, topic: str, name: str, entries: list[_Card]) -> None:
        """Add the content of a file."""
        self.names.setdefault(topic, name)
        for entry in entries:
            self.entries[entry["id"]] = entry
            self.topics[entry["id"]] = topic

    def merge(self, card: ImportedCard, taken_topics: Collection[str]) -> None:
        """Add an imported card, or bring the entry that it has up to date."""
        topic = topic_slug(card.deck)
        if topic in taken_topics and not card.own:
            topic = f"anki-{topic}"
        self.names.setdefault(topic, one_line(card.deck))
        old = self.entries.get(card.id)
        kept = {key: value for key, value in (old or {}).items() if key not in _OURS}
        entry = {**kept, **_entry(card)}
        self.new += old is None
        self.changed += old is not None and old != entry
        self.entries[card.id] = entry
        self.topics[card.id] = topic

    def files(self, folder: Path) -> Iterator[tuple[Path, str]]:
        """The files of all topics, in the order in which the topics came."""
        by_topic: dict[str, list[_Card]] = {}
        for name, entry in self.entries.items():
            by_topic.setdefault(self.topics[name], []).append(entry)
        for topic, entries in by_topic.items():
            yield from _files(folder, topic, self.names[topic], entries)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise QuizError(f"{path} cannot be read; move it away and import again") from None


def _parse(path: Path, text: str) -> tuple[str, str, list[_Card]]:
    """Topic, name, and cards of a file of the deck."""
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
        questions = data["questions"]
        if not all(isinstance(question["id"], str) for question in questions):
            raise TypeError
        return str(data["topic"]), str(data.get("name") or data["topic"]), questions
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, RecursionError):
        raise QuizError(
            f"{path} is no longer a deck that an import can add to; correct or move it, and import again"
        ) from None


def _entry(card: ImportedCard) -> _Card:
    entry: _Card = {"id": card.id, "prompt": card.prompt, "answer": card.answer}
    optional = {"level": card.level, "exercise": card.exercise}
    lists = {"tags": list(card.tags), "siblings": list(card.siblings)}
    return entry | {key: value for key, value in (optional | lists).items() if value}


def _files(folder: Path, topic: str, name: str, questions: list[_Card]) -> Iterator[tuple[Path, str]]:
    """The files of a topic: one, or several if one would be larger than a deck's file may be."""
    parts: list[list[_Card]] = [[]]
    size = 0
    for question in questions:
        characters = sum(len(str(value)) for value in question.values()) + 100
        if size + characters > _FILE_CHARACTERS and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(question)
        size += characters
    for number, part in enumerate(parts, 1):
        stem = topic[:80] if number == 1 else f"{topic[:80]}.{number}"
        yield folder / f"{stem}.yaml", _document(topic, name, part)


def _document(topic: str, name: str, questions: list[_Card]) -> str:
    document = {"topic": topic, "name": name or topic, "questions": questions}
    return _HEAD + yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes texts of several lines as blocks, which people can read and edit."""


def _write_text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)
