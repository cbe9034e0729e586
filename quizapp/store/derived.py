# ruff: noqa: S608 - only names of our own tables and columns enter the SQL, values are bound
"""What follows from the log, read: cards, the queue's rows, reviews."""

from collections.abc import Iterable

from quizapp.scheduling.cards import CardRow, ReviewRow, Waiting
from quizapp.store.database import Database, Row
from quizapp.store.projection import CARD_LIST, ORDER

_TABLES = (
    ("cards", "card"),
    ("reviews", "seq"),
    ("voids", "event"),
    ("renames", "old"),
)


class Derived:
    """Reads the derived tables over ``db``; nothing here writes."""

    db: Database

    def derived(self) -> dict[str, list[Row]]:
        """All derived rows by table, in a fixed order: two stores agree if these are equal."""
        return {table: self.db.rows(f"SELECT * FROM {table} ORDER BY {key}") for table, key in _TABLES}

    def card(self, name: str) -> CardRow | None:
        """The row of one card."""
        found = self.db.row(f"SELECT {CARD_LIST} FROM cards WHERE card = ?", (name,))
        return CardRow(*found) if found else None

    def cards(self) -> list[CardRow]:
        """The rows of all cards, by id."""
        return [CardRow(*row) for row in self.db.rows(f"SELECT {CARD_LIST} FROM cards ORDER BY card")]

    def due_cards(self, day: int) -> list[Waiting]:
        """The cards that fall due on or before a study day, and new ones that stand first in the queue."""
        # new cards have due_day 0, so that one index serves both
        sql = (
            f"SELECT {', '.join(Waiting._fields)} FROM cards WHERE due_day <= ?"
            " AND (state > 0 OR priority > 0) AND suspended = 0 AND buried < ?"
        )
        return [Waiting._make(row) for row in self.db.rows(sql, (day, day))]

    def reviewed(self, day: int) -> list[Row]:
        """(card, state before, source) of the reviews of a study day."""
        return self.db.rows("SELECT card, state, source FROM reviews WHERE day = ? ORDER BY seq", (day,))

    def not_new(self, day: int) -> set[str]:
        """The cards that cannot be introduced on a study day: seen, suspended or buried ones."""
        seen = self.db.rows("SELECT card FROM cards INDEXED BY cards_due WHERE state > 0")
        hidden = self.db.rows(
            "SELECT card FROM cards WHERE due_day = 0 AND state = 0 AND (suspended = 1 OR buried >= ?)",
            (day,),
        )
        return {name for (name,) in seen} | {name for (name,) in hidden}

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of the names that have a card."""
        wanted = list(names)
        found: list[str] = []
        for start in range(0, len(wanted), 500):  # SQLite limits the number of parameters
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            found += [
                name for (name,) in self.db.rows(f"SELECT card FROM cards WHERE card IN ({marks})", part)
            ]
        return found

    def typical_seconds(self) -> float:
        """The mean answering time of the last 200 timed reviews in seconds, 0.0 without any."""
        sql = "SELECT avg(ms) FROM (SELECT ms FROM reviews WHERE ms > 0 ORDER BY seq DESC LIMIT 200)"
        return float(self.db.rows(sql)[0][0] or 0.0) / 1000

    def reviews(self, *, card: str = "", since: int = 0) -> list[ReviewRow]:
        """The reviews that stand, of one card or from a study day on, in the order of the log."""
        if card:
            names = "SELECT ?1 UNION SELECT old FROM renames WHERE new = ?1"
            rows = self.db.rows(
                "SELECT reviews.* FROM reviews JOIN events ON events.seq = reviews.seq"
                f" WHERE events.card IN ({names}) ORDER BY {ORDER}",
                (card,),
            )
        else:
            rows = self.db.rows("SELECT * FROM reviews WHERE day >= ? ORDER BY seq", (since,))
        return [ReviewRow._make(row) for row in rows]

    def study_days(self) -> list[tuple[int, int]]:
        """(study day, reviews on it), newest first."""
        rows = self.db.rows("SELECT day, count(*) FROM reviews GROUP BY day ORDER BY day DESC")
        return [(int(day), int(number)) for day, number in rows]
