"""Today's queue of due and new cards in order, kept in memory between answers."""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from zlib import crc32

from quizapp.bank.model import Bank, Question
from quizapp.scheduling.cards import LEARNING, NEW, RELEARNING, REVIEW, CardRow, QueuedCard
from quizapp.scheduling.events import Moment
from quizapp.scheduling.views import CardFilter, Extra
from quizapp.settings.model import Settings
from quizapp.store.event_log import Store

AHEAD_MS = 20 * 60 * 1000  # a learning card may be shown this much early when nothing else is left
LIMITED = frozenset({"drill", "script", "mcp"})  # sources whose reviews count toward the limits of the day


class _DayPlan:
    """The cards still to come today under one filter, in order.

    Dicts serve as ordered sets, because they also delete fast. ``new`` is None until it is needed, because
    searching many cards for unseen ones is slow.
    """

    def __init__(self, reviews: Iterable[str], relatives: "_Relatives") -> None:
        self.reviews = dict.fromkeys(reviews)
        self.new: dict[str, None] | None = None
        self.relatives = relatives


class _Relatives:
    """The cards chosen for a day. Their siblings, parents and variants wait for another day."""

    def __init__(self) -> None:
        self.chosen: set[str] = set()
        self.families: set[str] = set()
        self.siblings: set[str] = set()

    def add(self, question: Question) -> None:
        """Choose ``question``, which excludes its relatives."""
        self.chosen.add(question.id)
        self.families.add(question.parent or question.id)
        self.siblings.update(question.siblings)

    def exclude(self, question: Question) -> bool:
        """Whether a relative was chosen already."""
        return (
            (question.parent or question.id) in self.families
            or question.id in self.siblings
            or any(sibling in self.chosen for sibling in question.siblings)
        )


class Queue:
    """The queue of one study day. ``load`` reads it from the store; answers update it in place."""

    def __init__(self, bank: Bank, store: Store, settings: Settings) -> None:
        self._bank = bank
        self._store = store
        self._settings = settings
        self._plans: dict[CardFilter, _DayPlan] = {}
        self._rows: dict[str, QueuedCard] = {}
        self._learning: dict[str, QueuedCard] = {}
        self._touched: dict[str, None] = {}
        self._not_new: set[str] | None = None
        self._reviewed = 0
        self._introduced = 0
        self._later: dict[str, QueuedCard] = {}
        self.left_out: set[str] = set()
        self.day = 0

    def load(self, day: int) -> None:
        """Read the state of a study day from the store."""
        self.day = day
        self._plans.clear()
        self._later.clear()
        self._not_new = None
        questions = self._bank.questions
        self._rows = {row.card: row for row in self._store.tables.due_cards(day) if row.card in questions}
        self._learning = {
            name: row for name, row in self._rows.items() if row.state in {LEARNING, RELEARNING}
        }
        self._touched = {}
        self._reviewed = self._introduced = 0
        for name, state, source in self._store.tables.reviewed(day):
            if name in questions:
                self._count(name, state, source)

    def leave_out(self, name: str) -> None:
        """Skip a card from now on, on later days too."""
        self.left_out.add(name)
        self._plans.clear()

    def _count(self, name: str, state: int, source: str) -> None:
        self._touched[name] = None
        if source in LIMITED:
            self._introduced += state == NEW
            self._reviewed += state == REVIEW

    def answered(self, before: int, row: CardRow, source: str) -> None:
        """Update the queue after a review of a card in state ``before``, without reading the store."""
        name = row.card
        if name not in self._bank.questions:
            return
        self._count(name, before, source)
        if self._not_new is not None:
            self._not_new.add(name)
        self._rows.pop(name, None)
        planned = name in self._learning
        for plan in self._plans.values():
            planned = planned or name in plan.reviews or name in (plan.new or ())
        self._learning.pop(name, None)
        hidden = row.suspended or row.buried >= self.day
        if row.state in {LEARNING, RELEARNING} and not hidden:
            waiting = QueuedCard(name, row.state, row.due, row.due_day, row.priority)
            self._learning[name] = self._rows[name] = waiting
        if planned:
            for plan in self._plans.values():
                plan.reviews.pop(name, None)
                if plan.new is not None:
                    plan.new.pop(name, None)
        else:
            self._plans.clear()  # The card was in no plan, so its relatives may now have to leave.

    def upcoming(self, flt: CardFilter, now: int, skip: Collection[str] = ()) -> QueuedCard | None:
        """The next card: learning cards that are due, then reviews, new cards, and learning cards early."""
        soon = self._next_learning(flt, skip)
        if soon and soon.due <= now:
            return soon
        for name in self._plan(flt).reviews:
            if name not in skip:
                return self._row(name)
        for name in self._new(flt):
            if name not in skip:
                return self._waiting(name)
        return soon if soon and soon.due <= now + AHEAD_MS else None

    def _next_learning(self, flt: CardFilter, skip: Collection[str]) -> QueuedCard | None:
        wanted = self.wanted(flt)
        waiting = (
            row
            for name, row in self._learning.items()
            if name not in skip and wanted(self._bank.questions[name])
        )
        return min(waiting, key=lambda row: (row.due, row.card), default=None)

    def learning(self, flt: CardFilter) -> list[QueuedCard]:
        """The cards in learning steps, soonest first."""
        wanted = self.wanted(flt)
        rows = [row for name, row in self._learning.items() if wanted(self._bank.questions[name])]
        return sorted(rows, key=lambda row: (row.due, row.card))

    def reviews(self, flt: CardFilter) -> list[QueuedCard]:
        """The reviews still to come today, in order."""
        return [self._row(name) for name in self._plan(flt).reviews]

    def _row(self, name: str) -> QueuedCard:
        return self._rows.get(name) or self._later[name]

    @property
    def over_limits(self) -> tuple[int, int]:
        """How many new cards and reviews were answered today beyond the limits."""
        settings = self._settings
        return (
            max(0, self._introduced - settings.new_per_day),
            max(0, self._reviewed - settings.reviews_per_day),
        )

    def new(self, flt: CardFilter) -> list[QueuedCard]:
        """The cards still to be introduced today, in order."""
        return [self._waiting(name) for name in self._new(flt)]

    def _waiting(self, name: str) -> QueuedCard:
        return self._rows.get(name) or QueuedCard(name, NEW, 0, 0, 0)

    def _new(self, flt: CardFilter) -> dict[str, None]:
        plan = self._plan(flt)
        if plan.new is None:
            plan.new = dict.fromkeys(self._choose_new(self._wants_new(flt), plan.relatives, flt.extra))
        return plan.new

    def _plan(self, flt: CardFilter) -> _DayPlan:
        if flt not in self._plans:
            wanted = self.wanted(flt)
            relatives = _Relatives()
            for name in (*self._touched, *self._learning):
                relatives.add(self._bank.questions[name])
            self._plans[flt] = _DayPlan(self._choose_reviews(wanted, relatives, flt.extra), relatives)
        return self._plans[flt]

    def _choose_reviews(
        self, wanted: Callable[[Question], bool], relatives: _Relatives, extra: Extra
    ) -> list[str]:
        room = self._settings.reviews_per_day - self._reviewed + extra.reviews
        day = self.day
        due = sorted(
            # The checksum mixes cards of one due day, in an order that stays the same all day.
            (1 - row.priority, row.due_day, crc32(name.encode(), day), name)
            for name, row in (*self._rows.items(), *self._read_later(extra.ahead))
            if row.state == REVIEW
        )
        first: list[Question] = []
        rest: list[Question] = []
        for later, _, _, name in due:
            question = self._bank.questions[name]
            if len(first) + len(rest) >= room:
                break
            # A card seen today is among the relatives itself, so it would exclude itself.
            apart = not extra.related and name not in self._touched and relatives.exclude(question)
            if apart or not wanted(question):
                continue
            relatives.add(question)
            (rest if later else first).append(question)
        return [*interleaved(first), *interleaved(rest)]

    def _read_later(self, days: int) -> list[tuple[str, QueuedCard]]:
        """The cards that fall due within ``days`` after today and were not answered today."""
        if not days:
            return []
        later = self._store.tables.due_cards(self.day, within=days)
        found = {
            row.card: row
            for row in later
            if row.due_day > self.day and row.card in self._bank.questions and row.card not in self._touched
        }
        self._later |= found
        return list(found.items())

    def _choose_new(
        self, wanted: Callable[[Question], bool], relatives: _Relatives, extra: Extra
    ) -> list[str]:
        room = self._settings.new_per_day - self._introduced + extra.new
        if room <= 0:
            return []
        if self._not_new is None:
            self._not_new = self._store.tables.not_new(self.day)
        seen = self._not_new
        urgent = [name for name, row in self._rows.items() if row.state == NEW and name not in seen]
        chosen: list[str] = []
        for question in self._introductions(wanted, seen, urgent):
            if extra.related or not relatives.exclude(question):
                relatives.add(question)
                chosen.append(question.id)
                if len(chosen) >= room:
                    break
        return chosen

    def unseen(self) -> list[str]:
        """All cards that can be introduced, in their order and without the day's limit."""
        rows = [name for name, row in self._rows.items() if row.state == NEW]
        seen = self._store.tables.not_new(self.day)
        urgent = [name for name in rows if name not in seen]
        return [question.id for question in self._introductions(lambda _: True, seen, urgent)]

    def _introductions(
        self, wanted: Callable[[Question], bool], seen: Collection[str], urgent: Sequence[str]
    ) -> Iterator[Question]:
        """New questions in the order of the paths, each after the questions it requires."""
        questions = self._bank.questions
        given: set[str] = set()
        for start in (*urgent, *self._order()):
            if start in given or start in seen or start not in questions:
                continue
            # Depth first: a question waits until everything that it requires has been given.
            stack = [start]
            while stack:
                name = stack[-1]
                given.add(name)  # before its requirements are visited, so that a cycle ends
                missing = [
                    other
                    for other in map(self._bank.resolve, questions[name].requires)
                    if other in questions and other not in given and other not in seen
                ]
                if missing:
                    stack.append(missing[0])
                    continue
                stack.pop()
                if wanted(questions[name]):
                    yield questions[name]

    def _order(self) -> Iterable[str]:
        paths = self._bank.paths
        yield from paths.get("core", ())
        for track in self._settings.tracks:
            yield from paths.get(track, ())
        for track in paths:
            yield from paths[track]
        yield from self._bank.questions

    def _wants_new(self, flt: CardFilter) -> Callable[[Question], bool]:
        """Like `wanted`, without topics and levels that the plan leaves out, unless ``flt`` names them."""
        wanted = self.wanted(flt)
        left_out = frozenset(self._settings.plan.leave_out) - {flt.topic, flt.level}
        if not left_out or flt.ids or flt.exercise:
            return wanted
        return lambda question: wanted(question) and left_out.isdisjoint((question.topic, question.level))

    def wanted(self, flt: CardFilter) -> Callable[[Question], bool]:
        """Whether a question is selected by a filter and was not left out."""
        left_out = self.left_out
        if flt._replace(extra=Extra()) == CardFilter():
            return lambda question: question.id not in left_out
        track = frozenset(self._bank.paths.get(flt.track, ())) if flt.track else frozenset()

        def wanted(question: Question) -> bool:
            return (
                (not flt.topic or question.topic == flt.topic)
                and (not flt.level or question.level == flt.level)
                and (not flt.kind or question.kind == flt.kind)
                and (not flt.exercise or question.exercise == flt.exercise)
                and (not flt.track or question.id in track or flt.track in question.tracks)
                and (not flt.ids or question.id in flt.ids)
                and question.id not in left_out
            )

        return wanted


def interleaved(questions: Sequence[Question]) -> list[str]:
    """The ids in nearly the same order, with neighbors from different topics where that is possible."""
    lines: dict[str, deque[tuple[int, str]]] = {}
    for rank, question in enumerate(questions):
        lines.setdefault(question.topic, deque()).append((rank, question.id))
    heads = [(line[0][0], topic) for topic, line in lines.items()]
    heapq.heapify(heads)
    order: list[str] = []
    last = ""
    while heads:
        # Take the topic with the most urgent card, or the runner-up if that topic was just shown.
        head = heapq.heappop(heads)
        if head[1] == last and heads:
            head = heapq.heapreplace(heads, head)
        last = head[1]
        line = lines[last]
        order.append(line.popleft()[1])
        if line:
            heapq.heappush(heads, (line[0][0], last))
    return order


def is_due(row: QueuedCard, now: Moment) -> bool:
    """Whether a card is due: by study day for a graduated card, by the clock in learning steps."""
    if row.state == REVIEW:
        return row.due_day <= now.day
    return row.state in {LEARNING, RELEARNING} and row.due <= now.time
