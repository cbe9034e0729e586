# ruff: noqa: S608 - only names of our own tables and columns enter the SQL, values are bound
"""The cards and reviews derived from the log: updated event by event, or rebuilt as a whole."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from operator import attrgetter

from quizapp.scheduling.cards import CardRow, EventReducer, QueuedCard, ReviewRow
from quizapp.scheduling.events import COLUMNS, Event, EventType
from quizapp.store.database import Database, Row

ORDER = "stamp, device, device_seq"
CARD_COLUMNS = tuple(field.name for field in fields(CardRow))
CARD_LIST = ", ".join(CARD_COLUMNS)
_values = attrgetter(*CARD_COLUMNS)
_SAVE_CARD = f"INSERT OR REPLACE INTO cards VALUES ({', '.join('?' * len(CARD_COLUMNS))})"
_SAVE_REVIEW = f"INSERT INTO reviews VALUES ({', '.join('?' * len(ReviewRow._fields))})"
_WITHOUT_CARD = f"'{EventType.UNDO}', '{EventType.SETTINGS}', '{EventType.MODEL}', '{EventType.RENAME}'"
_MODELS = frozenset({EventType.SETTINGS, EventType.MODEL})
_OF_CARDS = f"type NOT IN ({_WITHOUT_CARD})"
RARE = "type <> 'answer'"  # repeats the condition of the partial index, without which SQLite ignores it
# An event stands unless it, or the event that is its parent, was undone.
STANDS = "NOT EXISTS (SELECT 1 FROM voids WHERE voids.event IN (events.id, events.parent))"
_TABLES = (("cards", "card"), ("reviews", "seq"), ("voids", "event"), ("renames", "old"))  # (table, sort key)


class CardTables:
    """Reads the tables that replay derives; nothing here writes."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def snapshot(self) -> dict[str, list[Row]]:
        """All derived rows by table in a fixed order, to compare two databases."""
        return {table: self._db.rows(f"SELECT * FROM {table} ORDER BY {key}") for table, key in _TABLES}

    def card(self, name: str) -> CardRow | None:
        """The row of one card."""
        row = self._db.row(f"SELECT {CARD_LIST} FROM cards WHERE card = ?", (name,))
        return CardRow(*row) if row else None

    def cards(self) -> list[CardRow]:
        """The rows of all cards, by id."""
        return [CardRow(*row) for row in self._db.rows(f"SELECT {CARD_LIST} FROM cards ORDER BY card")]

    def due_cards(self, day: int, *, within: int = 0) -> list[QueuedCard]:
        """The cards due on a study day, before it, or ``within`` days after it; new cards with priority."""
        # New cards have due_day 0, so one index serves both conditions.
        sql = (
            f"SELECT {', '.join(QueuedCard._fields)} FROM cards WHERE due_day <= ?"
            " AND (state > 0 OR priority > 0) AND suspended = 0 AND buried < ?"
        )
        return [QueuedCard._make(row) for row in self._db.rows(sql, (day + within, day))]

    def reviewed(self, day: int) -> list[Row]:
        """(card, state before, source) of the reviews of a study day."""
        return self._db.rows("SELECT card, state, source FROM reviews WHERE day = ? ORDER BY seq", (day,))

    def not_new(self, day: int) -> set[str]:
        """The cards that cannot be introduced on a study day because they are seen, suspended or buried."""
        seen = self._db.rows("SELECT card FROM cards INDEXED BY cards_due WHERE state > 0")
        hidden = self._db.rows(
            "SELECT card FROM cards WHERE due_day = 0 AND state = 0 AND (suspended = 1 OR buried >= ?)",
            (day,),
        )
        return {name for (name,) in seen} | {name for (name,) in hidden}

    def suspended(self) -> set[str]:
        """The cards that are suspended."""
        return {name for (name,) in self._db.rows("SELECT card FROM cards WHERE suspended = 1")}

    def existing(self, names: Iterable[str]) -> list[str]:
        """Those of the names that have a card."""
        wanted = list(names)
        existing: list[str] = []
        for start in range(0, len(wanted), 500):  # SQLite limits the number of parameters
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            existing += [
                name for (name,) in self._db.rows(f"SELECT card FROM cards WHERE card IN ({marks})", part)
            ]
        return existing

    def typical_seconds(self) -> float:
        """The mean answering time of the last 200 timed reviews in seconds, 0.0 without any."""
        sql = "SELECT avg(ms) FROM (SELECT ms FROM reviews WHERE ms > 0 ORDER BY seq DESC LIMIT 200)"
        return float(self._db.rows(sql)[0][0] or 0.0) / 1000

    def reviews(self, *, card: str = "", since: int = 0) -> list[ReviewRow]:
        """The reviews that were not undone, of one card or since a study day, in the order of the log."""
        if card:
            names = "SELECT ?1 UNION SELECT old FROM renames WHERE new = ?1"
            rows = self._db.rows(
                "SELECT reviews.* FROM reviews JOIN events ON events.seq = reviews.seq"
                f" WHERE events.card IN ({names}) ORDER BY {ORDER}",
                (card,),
            )
        else:
            rows = self._db.rows("SELECT * FROM reviews WHERE day >= ? ORDER BY seq", (since,))
        return [ReviewRow._make(row) for row in rows]

    def study_days(self) -> list[tuple[int, int]]:
        """(study day, reviews on it), newest first."""
        rows = self._db.rows("SELECT day, count(*) FROM reviews GROUP BY day ORDER BY day DESC")
        return [(int(day), int(number)) for day, number in rows]


class Projection:
    """Applies events to the derived tables; every method runs inside a transaction of the caller."""

    def __init__(self, db: Database, reducer: EventReducer) -> None:
        self._db = db
        self._tables = CardTables(db)
        self._reducer = reducer
        self.latest: CardRow | None = None
        self.configure()

    def configure(self) -> None:
        """Pass the events that name a model or its weights, and were not undone, to the reducer."""
        models = f"type IN ('{EventType.SETTINGS}', '{EventType.MODEL}')"
        self._reducer.configure(self._events(f"{models} AND {RARE}"))

    def _events(self, condition: str, values: Iterable[str] = ()) -> list[Event]:
        sql = f"SELECT {COLUMNS} FROM events WHERE {condition} AND {STANDS} ORDER BY {ORDER}"
        return [Event._make(row) for row in self._db.rows(sql, tuple(values))]

    def apply(self, event: Event) -> None:
        """Update the tables for one event that was just appended."""
        if event.type == EventType.UNDO:
            self._toggle(event.target, 1)
        elif event.type in _MODELS:
            self._settings_changed()
        elif event.type == EventType.RENAME:
            self._rename(event)
        elif event.card:
            name = self._canonical(event.card)
            row = self._tables.card(name) or CardRow(name)
            review = self._reducer.apply(row, event)
            self._save(row, [review] if review else [])

    def _save(self, row: CardRow, reviews: Iterable[ReviewRow]) -> None:
        self._db.run(_SAVE_CARD, _values(row))
        self.latest = row
        for review in reviews:
            self._db.run(_SAVE_REVIEW, review)

    def _canonical(self, name: str) -> str:
        row = self._db.row("SELECT new FROM renames WHERE old = ?", (name,))
        return str(row[0]) if row else name

    def _rederive(self, name: str) -> None:
        """Derive one card again from all its events that were not undone."""
        names = [name, *(old for (old,) in self._db.rows("SELECT old FROM renames WHERE new = ?", (name,)))]
        marks = ", ".join("?" * len(names))
        # This uses the log's index: an index on reviews would cost a page in every answer.
        seqs = f"SELECT seq FROM events WHERE card IN ({marks})"
        self._db.run(f"DELETE FROM reviews WHERE seq IN ({seqs})", names)
        events = self._events(f"card IN ({marks}) AND {_OF_CARDS}", names)
        if not events:
            self._db.run("DELETE FROM cards WHERE card = ?", (name,))
            return
        row = CardRow(name)
        reviews = [self._reducer.apply(row, event) for event in events]
        self._save(row, [review for review in reviews if review])

    def _toggle(self, target: str, by: int) -> None:
        """Add ``by`` undos to ``target``, follow chains of undone undos, and update the changed cards."""
        # Undoing an undo brings its target back, so each step may reverse another one.
        changed: list[Event] = []
        waiting = [(target, by)]
        while waiting:
            name, step = waiting.pop()
            if not self._count_undo(name, step):
                continue
            for event in self._with_children(name):
                if event.type == EventType.UNDO:
                    waiting.append((event.target, -step))
                else:
                    changed.append(event)
        types = {event.type for event in changed}
        # Weights and names concern all cards; everything else concerns single ones.
        if types & {*_MODELS, EventType.RENAME}:
            self.rebuild()
            return
        for name in sorted({self._canonical(event.card) for event in changed if event.card}):
            self._rederive(name)

    def _count_undo(self, name: str, step: int) -> bool:
        """Change the number of undos of an event; True if that undoes it or brings it back."""
        row = self._db.row("SELECT n FROM voids WHERE event = ?", (name,))
        before = int(row[0]) if row else 0
        after = before + step
        if after:
            self._db.run("INSERT OR REPLACE INTO voids VALUES (?, ?)", (name, after))
        else:
            self._db.run("DELETE FROM voids WHERE event = ?", (name,))
        return bool(before) != bool(after)

    def _with_children(self, name: str) -> list[Event]:
        select = f"SELECT {COLUMNS} FROM events"
        sql = f"{select} WHERE id = ? UNION ALL {select} WHERE parent = ? AND parent <> ''"
        return [Event._make(row) for row in self._db.rows(sql, (name, name))]

    def _settings_changed(self) -> None:
        before = self._reducer.version
        self.configure()
        if self._reducer.version != before:
            self.rebuild()

    def _rename(self, event: Event) -> None:
        renames: dict[str, str] = dict(self._db.rows("SELECT old, new FROM renames"))
        touched = {event.target, event.card, renames.get(event.target, "")} - {""}
        _follow(renames, event.target, event.card)
        self._write_renames(renames)
        for name in sorted(touched):
            if name in renames:
                self._db.run("DELETE FROM cards WHERE card = ?", (name,))
            else:
                self._rederive(name)

    def _write_renames(self, renames: dict[str, str]) -> None:
        self._db.run("DELETE FROM renames")
        self._db.run_many("INSERT INTO renames VALUES (?, ?)", sorted(renames.items()))

    def rebuild(self) -> None:
        """Delete everything derived and replay the log."""
        for table in ("cards", "reviews", "voids", "renames"):
            self._db.run(f"DELETE FROM {table}")
        self._db.run_many("INSERT INTO voids VALUES (?, ?)", sorted(self._undone().items()))
        self.configure()
        renames: dict[str, str] = {}
        for event in self._events(f"type = '{EventType.RENAME}' AND {RARE}"):
            _follow(renames, event.target, event.card)
        self._write_renames(renames)
        cards: dict[str, CardRow] = {}
        self._db.run_many(_SAVE_REVIEW, self._replay(cards, renames))
        self._db.run_many(_SAVE_CARD, [_values(cards[name]) for name in sorted(cards)])

    def _replay(self, cards: dict[str, CardRow], renames: dict[str, str]) -> Iterator[ReviewRow]:
        apply = self._reducer.apply
        for event in self._events(f"card <> '' AND {_OF_CARDS}"):
            name = renames.get(event.card, event.card)
            row = cards.get(name)
            if row is None:
                row = cards[name] = CardRow(name)
            review = apply(row, event)
            if review:
                yield review._replace(card=name) if review.card != name else review

    def _undone(self) -> dict[str, int]:
        """How often each event is undone, by replaying the undo events in order."""
        sql = f"SELECT id, target FROM events WHERE type = '{EventType.UNDO}' AND {RARE} ORDER BY {ORDER}"
        undos = self._db.rows(sql)
        targets: dict[str, str] = dict(undos)
        counts: dict[str, int] = {}
        for _, target in undos:
            name, step = target, 1
            while name:
                before = counts.get(name, 0)
                counts[name] = before + step
                turned = bool(before) != bool(before + step)
                name, step = (targets.get(name, ""), -step) if turned else ("", step)
        return {name: n for name, n in counts.items() if n}


def _follow(renames: dict[str, str], old: str, new: str) -> None:
    """Point ``old``, and every name that led to it, at ``new``."""
    for name, target in renames.items():
        if target == old:
            renames[name] = new
    renames[old] = new
    renames.pop(new, None)  # a rename back to an old name must not form a cycle
