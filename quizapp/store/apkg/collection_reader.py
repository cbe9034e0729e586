"""Reads a collection from a SQLite file that a stranger may have made. Everything is checked before use."""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from quizapp.errors import QuizError
from quizapp.store.apkg.anki_rows import (
    AnkiCard,
    AnkiCollection,
    AnkiNote,
    AnkiReview,
    CardTemplate,
    NoteType,
)
from quizapp.store.apkg.protobuf_fields import ProtobufError, read_fields
from quizapp.store.database import Row


class CollectionError(QuizError):
    """The file holds no collection that can be read; the message says why and needs no subject."""


class ReadLimits(NamedTuple):
    """The most rows of each table, the longest value in bytes, and the seconds that reading may take."""

    notes: int = 200_000
    cards: int = 500_000
    reviews: int = 3_000_000
    value: int = 32 << 20
    seconds: float = 120.0


LIMITS = ReadLimits()
_Part = TypeVar("_Part", str, CardTemplate)
_OLD_SCHEMA = 11
_SCHEMAS = (11, 14, 15, 16, 17, 18)
_COLUMNS = {
    "notes": ("id", "guid", "mid", "mod", "tags", "flds"),
    "cards": (
        *("id", "nid", "did", "ord", "mod", "type", "queue", "due", "ivl", "factor", "reps", "lapses"),
        *("left", "flags", "data", "odue", "odid"),
    ),
    "revlog": ("id", "cid", "ease", "ivl", "lastIvl", "factor", "time", "type"),
}
_TEXTS = frozenset({"guid", "tags", "flds", "data", "name"})
_STEPS_PER_CALL = 10_000  # virtual machine steps between two looks at the clock
# Unlike the separator on screen, the one inside the database is a control character.
_LEVELS, _LEVELS_STORED = "::", "\x1f"


def read_collection(path: Path, limits: ReadLimits = LIMITS) -> AnkiCollection:
    """Read the collection at ``path``, which is not changed. Raises `CollectionError`.

    Cards in filtered decks are put back into their own decks.
    """
    try:
        with closing(_connect(path, limits)) as db:
            return _Reader(db, limits).collection()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise CollectionError(f"reading its database takes more than {limits.seconds:g} s") from None
        raise CollectionError("its database is damaged") from None
    except (UnicodeDecodeError, OverflowError):
        raise CollectionError("its database is damaged") from None


def _connect(path: Path, limits: ReadLimits) -> sqlite3.Connection:
    # Immutable: SQLite neither locks the file nor looks for a journal beside it.
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value)
        db.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000)
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        db.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 20)
        deadline = time.monotonic() + limits.seconds
        db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_PER_CALL)
        # Anki's own collation; the schema of the newer format names it.
        db.create_collation("unicase", lambda one, other: (one > other) - (one < other))
        for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


class _Reader:
    """Reads the tables of one open database."""

    def __init__(self, db: sqlite3.Connection, limits: ReadLimits) -> None:
        self._db = db
        self._limits = limits

    def collection(self) -> AnkiCollection:
        if self._db.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
            raise CollectionError("its database is damaged")
        self._require("col", ("crt", "ver"))
        ((created, version),) = list(self._rows("col", ("crt", "ver"), 1)) or [(0, 0)]
        if version not in _SCHEMAS:
            raise CollectionError(f"its database has the schema {version}, which this version does not know")
        old = version == _OLD_SCHEMA
        note_types = self._old_note_types() if old else self._new_note_types()
        decks = self._old_decks() if old else self._new_decks()
        limits = self._limits
        notes = [_note(row) for row in self._rows("notes", _COLUMNS["notes"], limits.notes)]
        cards = [_card(row) for row in self._rows("cards", _COLUMNS["cards"], limits.cards)]
        reviews = [AnkiReview._make(row) for row in self._rows("revlog", _COLUMNS["revlog"], limits.reviews)]
        return AnkiCollection(created, note_types, decks, notes, cards, reviews)

    def _require(self, table: str, columns: tuple[str, ...]) -> None:
        """Refuse a table that is a view, virtual, or computed: reading it would run what its author wrote."""
        found = self._db.execute(
            "SELECT type, sql FROM sqlite_master WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')",
            (table,),
        ).fetchall()
        if not found:
            raise CollectionError(f"its database has no table '{table}'")
        (kind, sql), *others = found
        if others or kind != "table" or not str(sql).upper().startswith("CREATE TABLE"):
            raise CollectionError(f"'{table}' in its database is not a plain table")
        # The last column is not zero for computed and hidden columns.
        present = {row[1]: row[6] for row in self._db.execute(f"PRAGMA table_xinfo('{table}')")}
        if any(present.values()):
            raise CollectionError(f"'{table}' in its database is not a plain table")
        for column in columns:
            if column not in present:
                raise CollectionError(f"the table '{table}' in its database has no column '{column}'")

    def _rows(self, table: str, columns: tuple[str, ...], most: int) -> Iterator[Row]:
        """The rows of a table by its first column, each value of the kind that its column must hold."""
        self._require(table, columns)
        names = ", ".join(f'"{column}"' for column in columns)
        cursor = self._db.execute(f"SELECT {names} FROM {table} ORDER BY 1 LIMIT {most + 1}")  # noqa: S608
        checks = [_text if column in _TEXTS else _whole for column in columns]
        for place, row in enumerate(cursor):
            if place >= most:
                raise CollectionError(f"the table '{table}' has more than {most:,} rows")
            try:
                yield tuple(check(value) for check, value in zip(checks, row, strict=True))
            except ValueError:
                raise CollectionError(f"a row of the table '{table}' holds a value of a wrong kind") from None

    def _blobs(self, table: str, columns: tuple[str, ...]) -> Iterator[Row]:
        """The rows of a table whose last column is a binary message."""
        self._require(table, columns)
        names = ", ".join(columns)
        for row in self._db.execute(f"SELECT {names} FROM {table} LIMIT 100000"):  # noqa: S608
            if not isinstance(row[-1], bytes):
                raise CollectionError(f"a row of the table '{table}' holds a value of a wrong kind")
            yield row

    def _json(self, column: str) -> Mapping[str, Any]:
        self._require("col", (column,))
        (text,) = self._db.execute(f"SELECT {column} FROM col").fetchone()  # noqa: S608
        try:
            value = json.loads(_text(text))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise CollectionError(f"the {column} in its table 'col' cannot be read")
        return value

    def _old_note_types(self) -> dict[int, NoteType]:
        try:
            return {
                int(number): _old_note_type(int(number), kind)
                for number, kind in self._json("models").items()
            }
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CollectionError("the note types in its table 'col' cannot be read") from None

    def _old_decks(self) -> dict[int, str]:
        try:
            return {int(number): _text(deck["name"]) for number, deck in self._json("decks").items()}
        except (KeyError, TypeError, ValueError):
            raise CollectionError("the decks in its table 'col' cannot be read") from None

    def _new_decks(self) -> dict[int, str]:
        decks = self._rows("decks", ("id", "name"), 100_000)
        return {number: name.replace(_LEVELS_STORED, _LEVELS) for number, name in decks}

    def _new_note_types(self) -> dict[int, NoteType]:
        fields: dict[int, dict[int, str]] = {}
        for kind, place, name in self._rows("fields", ("ntid", "ord", "name"), 100_000):
            fields.setdefault(kind, {})[place] = name
        templates: dict[int, dict[int, CardTemplate]] = {}
        note_types = {}
        try:
            for kind, place, name, config in self._blobs("templates", ("ntid", "ord", "name", "config")):
                texts = {number: value for number, value in read_fields(config) if isinstance(value, bytes)}
                sides = (texts.get(number, b"").decode() for number in (1, 2))
                templates.setdefault(_whole(kind), {})[_whole(place)] = CardTemplate(_text(name), *sides)
            for kind, name, config in self._blobs("notetypes", ("id", "name", "config")):
                cloze = dict(read_fields(config)).get(1) == 1
                note_types[_whole(kind)] = NoteType(
                    _whole(kind), _text(name), cloze, _in_order(fields, kind), _in_order(templates, kind)
                )
        except (ProtobufError, ValueError):
            raise CollectionError("its note types cannot be read") from None
        return note_types


def _in_order(parts: Mapping[int, Mapping[int, _Part]], kind: int) -> tuple[_Part, ...]:
    """The fields or templates of a note type, by their places."""
    return tuple(part for _, part in sorted(parts.get(kind, {}).items()))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _whole(value: object) -> int:
    # Old versions of Anki wrote some whole numbers as floats, or as text.
    number = int(value) if isinstance(value, int | float) else None
    if number is None or not -(2**63) <= number < 2**63:
        raise ValueError("not a whole number")
    return number


def _old_note_type(number: int, kind: Mapping[str, Any]) -> NoteType:
    fields = sorted(kind["flds"], key=_place)
    templates = sorted(kind["tmpls"], key=_place)
    return NoteType(
        number,
        _text(kind["name"]),
        kind.get("type", 0) == 1,
        tuple(_text(field["name"]) for field in fields),
        tuple(CardTemplate(_text(t["name"]), _text(t["qfmt"]), _text(t["afmt"])) for t in templates),
    )


def _place(part: Mapping[str, Any]) -> int:
    return _whole(part["ord"])


def _note(row: Row) -> AnkiNote:
    number, guid, kind, modified, tags, fields = row
    return AnkiNote(number, guid, kind, modified, tuple(tags.split()), tuple(fields.split("\x1f")))


def _card(row: Row) -> AnkiCard:
    *values, original_due, original_deck = row
    card = AnkiCard._make(values)
    if original_deck:
        card = card._replace(deck=original_deck, due=original_due or card.due)
    return card
