"""Writes a collection as Anki's schema 11, the oldest that is in use: every Anki opens it."""

import html
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha1
from pathlib import Path

from quizapp.scheduling.events import compact
from quizapp.store.apkg.anki_rows import AnkiCard, AnkiCollection, AnkiNote, AnkiReview, NoteType
from quizapp.store.database import Row

_SCHEMA = """
CREATE TABLE col (
  id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL, scm integer NOT NULL,
  ver integer NOT NULL, dty integer NOT NULL, usn integer NOT NULL, ls integer NOT NULL,
  conf text NOT NULL, models text NOT NULL, decks text NOT NULL, dconf text NOT NULL, tags text NOT NULL
);
CREATE TABLE notes (
  id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL, mod integer NOT NULL,
  usn integer NOT NULL, tags text NOT NULL, flds text NOT NULL, sfld integer NOT NULL,
  csum integer NOT NULL, flags integer NOT NULL, data text NOT NULL
);
CREATE TABLE cards (
  id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL, ord integer NOT NULL,
  mod integer NOT NULL, usn integer NOT NULL, type integer NOT NULL, queue integer NOT NULL,
  due integer NOT NULL, ivl integer NOT NULL, factor integer NOT NULL, reps integer NOT NULL,
  lapses integer NOT NULL, left integer NOT NULL, odue integer NOT NULL, odid integer NOT NULL,
  flags integer NOT NULL, data text NOT NULL
);
CREATE TABLE revlog (
  id integer PRIMARY KEY, cid integer NOT NULL, usn integer NOT NULL, ease integer NOT NULL,
  ivl integer NOT NULL, lastIvl integer NOT NULL, factor integer NOT NULL, time integer NOT NULL,
  type integer NOT NULL
);
CREATE TABLE graves (usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL);
CREATE INDEX ix_notes_usn ON notes (usn);
CREATE INDEX ix_cards_usn ON cards (usn);
CREATE INDEX ix_revlog_usn ON revlog (usn);
CREATE INDEX ix_cards_nid ON cards (nid);
CREATE INDEX ix_cards_sched ON cards (did, queue, due);
CREATE INDEX ix_revlog_cid ON revlog (cid);
CREATE INDEX ix_notes_csum ON notes (csum);
"""
_VERSION = 11
_NOT_SYNCED = -1  # Anki's update sequence number of a row that no server has seen
DEFAULT_DECK = 1
_FIELD_SEPARATOR = "\x1f"


def write_collection(path: Path, collection: AnkiCollection, *, now: int, rollover_hour: int) -> None:
    """Write ``collection`` to a new SQLite file at ``path``; ``now`` is in ms since 1970."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        # The file is a draft that is packed next: it needs no journal and no fsync.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        _insert(db, "col", [_collection_row(collection, now, rollover_hour)])
        _insert(db, "notes", map(_note_row, collection.notes))
        _insert(db, "cards", map(_card_row, collection.cards))
        _insert(db, "revlog", map(_review_row, collection.reviews))
        db.execute("COMMIT")


def _insert(db: sqlite3.Connection, table: str, rows: "Iterator[Row] | map[Row] | list[Row]") -> None:
    width = len(db.execute(f"SELECT * FROM {table}").description)  # noqa: S608 - our own names
    db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)  # noqa: S608


def _collection_row(collection: AnkiCollection, now: int, rollover_hour: int) -> Row:
    seconds = now // 1000
    config = {
        "activeDecks": [DEFAULT_DECK],
        "creationOffset": 0,
        "curDeck": DEFAULT_DECK,
        "nextPos": len(collection.cards) + 1,
        "rollover": rollover_hour,
        "schedVer": 2,
        "sched2021": True,
    }
    models = {str(kind.id): _note_type(kind, seconds) for kind in collection.note_types.values()}
    names = {DEFAULT_DECK: "Default", **collection.decks}
    decks = {str(number): _deck(number, name, seconds) for number, name in names.items()}
    texts = (compact(part) for part in (config, models, decks, {str(DEFAULT_DECK): _DECK_OPTIONS}, {}))
    return (1, collection.created, now, now, _VERSION, 0, 0, 0, *texts)


def _note_type(kind: NoteType, seconds: int) -> dict[str, object]:
    template = {"bqfmt": "", "bafmt": "", "did": None, "bfont": "", "bsize": 0}
    looks = {"sticky": False, "rtl": False, "font": "Arial", "size": 20, "media": []}
    return {
        "id": kind.id,
        "name": kind.name,
        "type": int(kind.cloze),
        "mod": seconds,
        "usn": _NOT_SYNCED,
        "sortf": 0,
        "did": None,
        "tmpls": [
            {"name": one.name, "ord": place, "qfmt": one.question, "afmt": one.answer, **template}
            for place, one in enumerate(kind.templates)
        ],
        "flds": [{"name": name, "ord": place, **looks} for place, name in enumerate(kind.fields)],
        "css": kind.style,
        "latexPre": "",
        "latexPost": "",
        "req": [[place, "any", [0]] for place in range(len(kind.templates))],
        "tags": [],
        "vers": [],
    }


def _deck(number: int, name: str, seconds: int) -> dict[str, object]:
    counts = {key: [0, 0] for key in ("lrnToday", "revToday", "newToday", "timeToday")}
    return {
        "id": number,
        "name": name,
        "mod": 0 if number == DEFAULT_DECK else seconds,
        "usn": _NOT_SYNCED,
        "collapsed": False,
        "browserCollapsed": True,
        "desc": "",
        "dyn": 0,
        "conf": DEFAULT_DECK,
        "extendNew": 0,
        "extendRev": 0,
        **counts,
    }


_DECK_OPTIONS = {
    "id": DEFAULT_DECK,
    "name": "Default",
    "mod": 0,
    "usn": 0,
    "maxTaken": 60,
    "autoplay": True,
    "timer": 0,
    "replayq": True,
    "dyn": False,
    "new": {
        "bury": False,
        "delays": [1.0, 10.0],
        "initialFactor": 2500,
        "ints": [1, 4, 0],
        "order": 1,
        "perDay": 20,
    },
    "rev": {"bury": False, "ease4": 1.3, "ivlFct": 1.0, "maxIvl": 36500, "perDay": 200, "hardFactor": 1.2},
    "lapse": {"delays": [10.0], "leechAction": 1, "leechFails": 8, "minInt": 1, "mult": 0.0},
}


def _note_row(note: AnkiNote) -> Row:
    first = _plain(note.fields[0])
    checksum = int.from_bytes(sha1(first.encode(), usedforsecurity=False).digest()[:4], "big")
    tags = f" {' '.join(note.tags)} " if note.tags else ""
    fields = _FIELD_SEPARATOR.join(note.fields)
    head = (note.id, note.guid, note.note_type, note.modified, _NOT_SYNCED)
    return (*head, tags, fields, first, checksum, 0, "")


def _plain(field: str) -> str:
    """The text of a field without markup, by which Anki sorts notes and finds doubles."""
    return html.unescape(re.sub(r"<[^>]*>", "", field))


def _card_row(card: AnkiCard) -> Row:
    *_, lapses, steps_left, flags, data = card
    head = (card.id, card.note, card.deck, card.ordinal, card.modified, _NOT_SYNCED)
    memory = (card.state, card.queue, card.due, card.interval, card.factor, card.reps)
    return (*head, *memory, lapses, steps_left, 0, 0, flags, data)


def _review_row(review: AnkiReview) -> Row:
    return (review.id, review.card, _NOT_SYNCED, *review[2:])
