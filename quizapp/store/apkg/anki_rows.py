"""The rows of an Anki collection that quizapp reads and writes, with Anki's units and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple


class AnkiQueue(IntEnum):
    """Where Anki keeps a card; the numbers are those of its column ``queue``."""

    BURIED_BY_USER = -3
    BURIED_BY_SCHEDULER = -2
    SUSPENDED = -1
    NEW = 0
    LEARNING = 1
    REVIEW = 2
    DAY_LEARNING = 3
    PREVIEW = 4


class AnkiReviewKind(IntEnum):
    """What a row of the review log records; the numbers are those of its column ``type``."""

    LEARNING = 0
    REVIEW = 1
    RELEARNING = 2
    FILTERED = 3
    MANUAL = 4
    RESCHEDULED = 5


class CardTemplate(NamedTuple):
    """One side-by-side layout of a note type: the HTML of question and answer with ``{{fields}}``."""

    name: str
    question: str
    answer: str


class NoteType(NamedTuple):
    """The fields of notes and the cards made from them. ``style`` is CSS."""

    id: int
    name: str
    cloze: bool
    fields: tuple[str, ...]
    templates: tuple[CardTemplate, ...]
    style: str = ""


class AnkiNote(NamedTuple):
    """A note; ``modified`` is in seconds since 1970, ``fields`` are HTML."""

    id: int
    guid: str
    note_type: int
    modified: int
    tags: tuple[str, ...]
    fields: tuple[str, ...]


class AnkiCard(NamedTuple):
    """A card of a note.

    ``state`` is 0 new, 1 learning, 2 review, 3 relearning. ``due`` is a place in line for a new card, seconds
    since 1970 while learning, and days since the collection's creation in review. ``interval`` is in days,
    ``factor`` the ease in thousandths. ``data`` is JSON and holds, among others, the memory state of FSRS.
    """

    id: int
    note: int
    deck: int
    ordinal: int
    modified: int
    state: int
    queue: int
    due: int
    interval: int
    factor: int
    reps: int
    lapses: int
    steps_left: int
    flags: int
    data: str


class AnkiReview(NamedTuple):
    """A row of the review log. The id is the time in ms.

    ``rating`` is 1 to 4, or 0 for a change without an answer. Intervals are in days, or in seconds and
    negative. ``ms`` is the answering time. ``kind`` is an `AnkiReviewKind`.
    """

    id: int
    card: int
    rating: int
    interval: int
    last_interval: int
    factor: int
    ms: int
    kind: int


@dataclass(frozen=True, slots=True)
class AnkiCollection:
    """A collection: notes, cards and reviews, and what they refer to by id.

    ``created`` is in seconds since 1970 and the first day that due days count from. ``decks`` maps ids to
    names, whose levels are separated by ``::``.
    """

    created: int
    note_types: Mapping[int, NoteType]
    decks: Mapping[int, str]
    notes: Sequence[AnkiNote]
    cards: Sequence[AnkiCard]
    reviews: Sequence[AnkiReview] = field(default=())
