"""The rules that derive cards from events; the store replays them."""

import json
from collections.abc import Iterable

from quizapp.scheduling.cards import ANKI, NEW, RELEARNING, REVIEW, CardRow, Rating, ReviewRow, has_steps
from quizapp.scheduling.events import Event, EventType, Moment, compact
from quizapp.scheduling.models.model import Memory, MemoryModel, ModelName, model_from
from quizapp.scheduling.models.scheduler import RatingOutcome, Scheduler
from quizapp.scheduling.study_day import DAY_S, day_start

RULES = "2"  # Change it whenever the rules below change, so that databases are rebuilt at the next start.
_RATED = frozenset({EventType.ANSWER, EventType.VERDICT, EventType.CODE_REVIEW, EventType.DEBUGGING})


def memory_of(row: CardRow) -> Memory:
    """The model's view of a card."""
    return Memory(
        row.state, row.step, row.stability, row.difficulty, row.last_day, row.interval, row.fast, row.last
    )


class CardReducer:
    """Applies events to cards, under the model and the weights that the log names.

    ``forced`` is the model that the learner's settings ask for; None leaves the choice to the log.
    """

    def __init__(self, rollover_hour: int = 4, forced: ModelName | None = None) -> None:
        self.models = {name: MemoryModel.default(name) for name in ModelName}
        """Each model with its newest weights."""
        self.chosen = ModelName.FSRS_6
        """The model that the log chooses; the settings may force another."""
        self._rollover_hour = rollover_hour
        self._forced = forced
        self.scheduler = Scheduler(self.models[forced or ModelName.FSRS_6])

    @property
    def version(self) -> str:
        """Rules, rollover and model: a database derived under another version is rebuilt."""
        return f"{RULES} {self._rollover_hour} {self.scheduler.version}"

    def configure(self, settings: Iterable[Event]) -> None:
        """Use the newest model and weights among the events; without any, FSRS-6 with its defaults.

        A settings event brings new weights of FSRS-6, and a model event the weights of every model by name,
        and the name of the one to use.
        """
        self.models = {name: MemoryModel.default(name) for name in ModelName}
        self.chosen = ModelName.FSRS_6
        for event in settings:
            details = event.details
            name, weights = details.get("model"), details.get("weights")
            if event.type == EventType.MODEL:
                by_name = weights if isinstance(weights, dict) else {}
                self.chosen = ModelName(str(name)) if name in list(ModelName) else self.chosen
            else:
                by_name = {name: weights}
            known = (model_from(*named) for named in by_name.items())
            self.models |= {model.name: model for model in known if model}
        model = self.models[self._forced or self.chosen]
        if model != self.scheduler.model:
            self.scheduler = Scheduler(model)

    def apply(self, card: CardRow, event: Event) -> ReviewRow | None:
        """Apply an event to the card; return the review if the event was one."""
        kind = event.type
        if event.rating is not None and kind in _RATED:
            return self._review(card, event)
        if kind == EventType.BURY:
            card.buried = event.day
        elif kind in {EventType.SUSPEND, EventType.UNSUSPEND}:
            card.suspended = int(kind == EventType.SUSPEND)
        elif kind in {EventType.FLAG, EventType.UNFLAG}:
            card.flagged = int(kind == EventType.FLAG)
        elif kind == EventType.EDIT_SEEN:
            self._edit_seen(card, event)
        elif kind == EventType.RECALL:
            self._move(card, event, sooner=True)
        elif kind == EventType.CREDIT:
            self._move(card, event, sooner=False)
        return None

    def _review(self, card: CardRow, event: Event) -> ReviewRow:
        assert event.rating is not None
        before = memory_of(card)
        steps = has_steps(card.card) and not _graduated_elsewhere(event)
        after = self.scheduler.review(before, event.rating, event.day, steps, event.time)
        elapsed = max(0, event.day - before.last_day) if before.state != NEW else 0
        predicted = None
        if before.state != NEW:
            scheduler = self.scheduler
            passed = scheduler.elapsed(before, event.day, event.time) if scheduler.real_time else elapsed
            predicted = scheduler.retrievability(before, passed)
        caps = self._caps(card, event, after.state)
        interval = self._interval(card, event, after.state)
        review = ReviewRow(
            event.seq,
            card.card,
            event.time,
            event.day,
            event.rating,
            before.state,
            elapsed,
            before.stability,
            predicted,
            event.ms,
            event.source,
            interval,
        )
        if before.state == REVIEW and event.rating == 1:
            card.lapses += 1
        card.state, card.step = after.state, after.step
        card.stability, card.difficulty, card.fast = after.stability, after.difficulty, after.fast
        # Travel to the west can turn the calendar back; a study day must never go backward.
        card.last, card.last_day = event.time, max(event.day, before.last_day)
        card.reps += 1
        card.rating = event.rating
        card.priority = 0
        card.caps = caps
        card.content = event.content
        card.interval = interval
        card.due, card.due_day = self.due_after(Moment(event.time, event.offset, event.day), interval)
        return review

    def _interval(self, card: CardRow, event: Event, state: int) -> int:
        """The interval promised when the card was rated, or a computed one if the promise does not fit."""
        # The promise counts even if settings or weights have changed since. It does not fit if events
        # merged from another device have put the card into another state.
        promised = event.interval
        if promised is not None and (promised >= DAY_S) == (state == REVIEW):
            return promised
        assert event.rating is not None
        rating = Rating(event.rating)
        moment = Moment(event.time, event.offset, event.day)
        return self.outcomes(card, moment, 0.9, 36500, rating)[rating].interval

    def outcomes(
        self, card: CardRow, now: Moment, retention: float, most: int, up_to: Rating = Rating.EASY
    ) -> dict[Rating, RatingOutcome]:
        """The effect that each rating up to ``up_to`` would have on a card now.

        ``retention`` is the desired chance of recall, ``most`` the longest interval in days.
        """
        return self.scheduler.outcomes(
            memory_of(card),
            now.day,
            card=card.card,
            repetition=card.reps,
            retention=retention,
            most=most,
            steps=has_steps(card.card),
            cap=next_cap(card),
            up_to=up_to,
            time=now.time,
        )

    def due_after(self, when: Moment, interval: int) -> tuple[int, int]:
        """When a card is due after an interval in seconds: (UTC ms, study day).

        An interval of a day or more ends at the beginning of a study day; a shorter one ends by the clock.
        """
        if interval < DAY_S:
            return when.time + interval * 1000, when.day
        day = when.day + interval // DAY_S
        return day_start(day, when.offset, self._rollover_hour), day

    @staticmethod
    def _caps(card: CardRow, event: Event, state: int) -> str:
        """The caps left for later reviews: a review uses one up, a step none, an event may set new ones."""
        if event.data:
            brought = event.details.get("caps")
            if brought:
                return compact(list(brought))
        if not card.caps or state != REVIEW:
            return card.caps
        rest = json.loads(card.caps)[1:]
        return compact(rest) if rest else ""

    def _edit_seen(self, card: CardRow, event: Event) -> None:
        card.content = event.content
        if event.details.get("treat_as_new"):
            fresh = CardRow(card.card, content=event.content, flagged=card.flagged, suspended=card.suspended)
            fresh.reps = card.reps  # a count from 0 would repeat the values and the fuzz of old repetitions
            for name in CardRow.__slots__:
                setattr(card, name, getattr(fresh, name))

    def _move(self, card: CardRow, event: Event, *, sooner: bool) -> None:
        """Move a card to the next study day: a recall brings it forward, a credit puts it off."""
        tomorrow = event.day + 1
        if sooner:
            card.priority = 1
        if card.state not in {REVIEW, RELEARNING} or (card.due_day <= tomorrow) == sooner:
            return
        # A credit must not postpone the relearning steps of a card that was just forgotten.
        if not sooner and card.state == RELEARNING:
            return
        card.due_day = tomorrow
        card.due = day_start(tomorrow, event.offset, self._rollover_hour)


def _graduated_elsewhere(event: Event) -> bool:
    """Whether Anki, whose learning steps are the user's own, put the card into review."""
    return event.source == ANKI and (event.interval or 0) >= DAY_S


def next_cap(card: CardRow) -> int | None:
    """The longest interval in days that the next review may give; None where nothing limits it."""
    return int(json.loads(card.caps)[0]) if card.caps else None
