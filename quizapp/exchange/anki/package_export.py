"""Writes the bank and the review history as an Anki package: a zip with a database and a list of media."""

import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from quizapp.errors import QuizError
from quizapp.exchange.anki.card_html import CardHtml, bank_notes
from quizapp.scheduling.cards import LEARNING, NEW, RELEARNING, REVIEW, CardRow, CardState, ReviewRow
from quizapp.scheduling.events import compact
from quizapp.scheduling.models.model import ModelName
from quizapp.scheduling.models.steps import LEARNING_STEPS
from quizapp.scheduling.service import Study
from quizapp.scheduling.statistics import reviews_by_time
from quizapp.scheduling.study_day import DAY_S, day_start
from quizapp.store.apkg.anki_rows import (
    AnkiCard,
    AnkiCollection,
    AnkiNote,
    AnkiQueue,
    AnkiReview,
    AnkiReviewKind,
    CardTemplate,
    NoteType,
)
from quizapp.store.apkg.collection_writer import write_collection
from quizapp.util.atomic import write_atomic

NOTE_TYPE = "quizapp"

_FIRST_DAY = date(2020, 1, 1).toordinal()  # due days count from here
_STYLE = """.card { font-family: sans-serif; font-size: 18px; line-height: 1.5; text-align: left;
  max-width: 44em; margin: 0 auto; }
pre, code { font-family: monospace; font-size: 90%; }
pre { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid gray; padding: 0.2em 0.6em; }
"""
_NOTE_TYPE = NoteType(
    id=1_577_836_800_000,
    name=NOTE_TYPE,
    cloze=False,
    fields=("Front", "Back", "Id"),
    templates=(CardTemplate("Card 1", "{{Front}}", "{{FrontSide}}\n\n<hr id=answer>\n\n{{Back}}"),),
    style=_STYLE,
)
# Anki reads ids as times of creation and repairs those in the future, so all lie in the years from 2020.
_FIRST_ID = 1_577_836_800_000
_IDS = 5 * 365 * DAY_S * 1000
_EASE = 2500  # thousandths; Anki without FSRS needs some ease, and this is its own start
_MOST_MS = 2**31 - 1


class ExportedPackage(NamedTuple):
    """How many notes and reviews were written."""

    notes: int
    reviews: int


def write_package(study: Study, path: Path) -> ExportedPackage:
    """Write the bank with its schedule and history to ``path``, replacing an older file in one step.

    Raises `QuizError` if the file cannot be written. Reviews of exercises, of interviews and of questions
    that are no longer in the bank have no note, so they are left out.
    """
    if path.is_dir() or not path.parent.is_dir():
        problem = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise QuizError(f"{path} cannot be written: {problem}; name a file in a folder that exists")
    now = study.now()
    collection = _collection(study, now.time // 1000)
    with tempfile.TemporaryDirectory(prefix="quizapp-anki-") as folder:
        database = Path(folder) / "collection.anki2"
        write_collection(database, collection, now=now.time, rollover_hour=study.settings.rollover_hour)
        content = _zipped({database.name: database.read_bytes(), "media": b"{}"})
    try:
        write_atomic(path.resolve(), content, durable=True)
    except OSError as error:
        raise QuizError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from None
    return ExportedPackage(len(collection.notes), len(collection.reviews))


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            # The constant date of a plain ZipInfo keeps the same state the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _collection(study: Study, now: int) -> AnkiCollection:
    notes = list(bank_notes(study.bank))
    ids = stable_ids(note.card for note in notes)
    decks = stable_ids(note.deck for note in notes)
    rows = {row.card: row for row in study.cards()}
    reviews = [review for review in reviews_by_time(study) if review.card in ids]
    cards = _CardWriter(study, now)
    return AnkiCollection(
        created=day_start(_FIRST_DAY, 0, study.settings.rollover_hour) // 1000,
        note_types={_NOTE_TYPE.id: _NOTE_TYPE},
        decks={number: name for name, number in decks.items()},
        notes=[_note(note, ids[note.card], now) for note in notes],
        cards=[
            cards.card(rows.get(note.card) or CardRow(note.card), ids[note.card], decks[note.deck], place)
            for place, note in enumerate(notes, 1)
        ],
        reviews=list(_reviews(reviews, ids)),
    )


def stable_ids(names: Iterable[str]) -> dict[str, int]:
    """An id for each name that stays the same from export to export; a taken one moves to the next."""
    ids: dict[str, int] = {}
    taken: set[int] = set()
    for name in sorted(set(names)):
        number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") % _IDS
        while number in taken:
            number += 1
        taken.add(number)
        ids[name] = _FIRST_ID + 1 + number
    return ids


def _note(note: CardHtml, number: int, now: int) -> AnkiNote:
    # Anki updates a note only if the one in the package is newer, so the time is that of the export.
    return AnkiNote(number, note.guid, _NOTE_TYPE.id, now, note.tags, (note.front, note.back, note.card))


class _CardWriter:
    """Translates the state of cards; ``now`` is in seconds since 1970."""

    def __init__(self, study: Study, now: int) -> None:
        self._now = now
        self._today = study.now().day
        self._retention = study.settings.desired_retention
        model = study.scheduler.model
        # Anki has no FSRS-7; without a memory state it derives one from the history.
        self._decay = model.weights[20] if model.name == ModelName.FSRS_6 else None

    def card(self, row: CardRow, number: int, deck: int, place: int) -> AnkiCard:
        """A card's row; ``place`` is its place in the order of the bank."""
        state, queue, due, interval = _schedule(row, place)
        if row.suspended:
            queue = AnkiQueue.SUSPENDED
        elif row.buried >= self._today:
            queue = AnkiQueue.BURIED_BY_USER
        return AnkiCard(
            id=number,
            note=number,
            deck=deck,
            ordinal=0,
            modified=self._now,
            state=state,
            queue=queue,
            due=due,
            interval=interval,
            factor=_EASE if state in {REVIEW, RELEARNING} else 0,
            reps=row.reps,
            lapses=row.lapses,
            steps_left=_steps_left(row),
            flags=row.flagged,
            data=self._data(row, place),
        )

    def _data(self, row: CardRow, place: int) -> str:
        data: dict[str, object] = {"pos": place}
        if row.stability > 0 and self._decay is not None:
            data["s"] = round(row.stability, 4)
            data["d"] = round(row.difficulty, 3)
            data["dr"] = round(self._retention, 2)
            data["decay"] = round(self._decay, 3)
            data["lrt"] = row.last // 1000
        return compact(data)


def _schedule(row: CardRow, place: int) -> tuple[int, int, int, int]:
    """State, queue, due and interval in Anki's numbers."""
    if row.state == NEW:
        return NEW, AnkiQueue.NEW, place, 0
    if row.state == REVIEW:
        return REVIEW, AnkiQueue.REVIEW, row.due_day - _FIRST_DAY, max(1, row.interval // DAY_S)
    interval = max(1, round(row.stability)) if row.state == RELEARNING else 0
    return row.state, AnkiQueue.LEARNING, row.due // 1000, interval


def _steps_left(row: CardRow) -> int:
    if row.state == LEARNING:
        return max(1, len(LEARNING_STEPS) - (row.step or 0))
    return int(row.state == RELEARNING)


_KINDS = {
    NEW: AnkiReviewKind.LEARNING,
    LEARNING: AnkiReviewKind.LEARNING,
    REVIEW: AnkiReviewKind.REVIEW,
    RELEARNING: AnkiReviewKind.RELEARNING,
}


def _reviews(reviews: Sequence[ReviewRow], ids: Mapping[str, int]) -> Iterator[AnkiReview]:
    """The rows of the review log. An id is the time in ms, later where another review has taken it."""
    last: dict[str, int] = {}
    number = 0
    for review in reviews:
        number = max(number + 1, review.time)
        interval = _interval(review.interval)
        yield AnkiReview(
            id=number,
            card=ids[review.card],
            rating=review.rating,
            interval=interval,
            last_interval=last.get(review.card, 0),
            factor=_EASE if review.state in {REVIEW, RELEARNING} else 0,
            ms=min(review.ms, _MOST_MS),
            kind=_KINDS[CardState(review.state)],
        )
        last[review.card] = interval


def _interval(seconds: int) -> int:
    """A wait in Anki's numbers: whole days, or seconds and negative if it is less than a day."""
    return seconds // DAY_S if seconds >= DAY_S else -seconds
