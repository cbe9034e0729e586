"""Rows of the browser and its filter: the bank's search plus ``state:`` and ``due:``."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from quizapp.bank.model import Question
from quizapp.bank.search import search
from quizapp.scheduling.cards import STATE_NAMES, CardRow
from quizapp.scheduling.service import Study

STATES = (*STATE_NAMES, "suspended", "flagged", "buried", "leech", "due")
DUE = {"today": 0, "tomorrow": 1, "week": 7, "month": 30}


class Row(NamedTuple):
    """A question with its memory, if it has one."""

    question: Question
    card: CardRow | None
    days: int | None
    """Study days until it is due; None for a card never seen."""

    @property
    def state(self) -> str:
        """The card's state in one word."""
        if self.card is None or not self.card.reps:
            return "new"
        return "suspended" if self.card.suspended else STATE_NAMES[self.card.state]


class Browser:
    """The rows of a bank for a query; the memory is read once and again after a change."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._cards: Mapping[str, CardRow] = {}
        self._today = 0
        self.refresh()

    def refresh(self) -> None:
        """Read the memory again."""
        self._cards = {row.card: row for row in self.study.store.cards()}
        self._today = self.study.now().day

    def rows(self, query: str) -> list[Row]:
        """The rows that meet every part of a query."""
        words, tests = [], []
        for part in query.split():
            name, _, value = part.casefold().partition(":")
            if name in {"state", "due"}:
                if value:
                    tests.append(self._test(name, value))
            else:
                words.append(part)
        rows = map(self._row, search(self.study.bank, " ".join(words)))
        return [row for row in rows if all(test(row) for test in tests)]

    def _row(self, question: Question) -> Row:
        card = self._cards.get(question.id)
        days = card.due_day - self._today if card is not None and card.state else None
        return Row(question, card, days)

    def _test(self, name: str, value: str) -> Callable[[Row], bool]:
        if name == "state":
            return lambda row: self._is(row, value)
        limit = DUE.get(value) if not value.isdigit() else int(value)
        if limit is None:
            names = [known for known in DUE if known.startswith(value)]
            limit = DUE[names[0]] if names else -1
        return lambda row: row.days is not None and row.days <= limit

    def _is(self, row: Row, value: str) -> bool:
        card = row.card
        if row.state in STATE_NAMES and row.state.startswith(value):
            return True
        if card is None:
            return False
        return (
            ("suspended".startswith(value) and bool(card.suspended))
            or ("flagged".startswith(value) and bool(card.flagged))
            or ("buried".startswith(value) and card.buried >= self._today)
            or ("leech".startswith(value) and self.study.is_leech(card))
            or ("due".startswith(value) and row.days is not None and row.days <= 0 and not card.suspended)
        )
