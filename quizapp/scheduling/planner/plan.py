"""The plan until a date: calendar, best policy, expected recall and alternatives."""

from collections.abc import Callable, Sequence
from datetime import date
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from quizapp.scheduling.planner.alternatives import Alternative, find_alternatives
from quizapp.scheduling.planner.calendar import INCIDENT, MOCK, CalendarDay, calendar
from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.load_deck import PATH, StudyWeights, load_deck
from quizapp.scheduling.planner.policy_search import PolicyChoice, PolicySearch, mean
from quizapp.scheduling.planner.simulate import DayWork, Policy
from quizapp.scheduling.statistics import minutes_on
from quizapp.settings.model import Settings

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

SCHEMA = "quizapp.plan/1"
_Z80 = 1.2816  # standard deviations around the mean that hold 80 % of a normal distribution
_DEFAULT_RANGE = (10, 240)
_LOOSE = 2  # a limit up to so many times the busiest day is left alone
_NEAR_PRESENT = 0.2  # of the limit of new cards: what the plan moves from one morning to the next
_GROWTH, _LEAST_STEP = 1.5, 5  # the limit of new cards times so many, or so many more, in one step
_FEW_DAYS = 7  # up to so many days with new cards the limit changes in one step
_REVIEWS_PER_NEW = 3  # a day, once a steady pace has settled


class PlannedDay(NamedTuple):
    """A day of the plan and what a typical run does on it."""

    calendar_day: CalendarDay
    done: DayWork

    @property
    def minutes(self) -> int:
        """Minutes in all, the rehearsal included."""
        return round(self.done.seconds / 60 + self.calendar_day.rehearsal_minutes)


def exercise_parts(days: Sequence[PlannedDay]) -> list[tuple[str, float, bool]]:
    """The exercises of the days in order, each once: slug, seconds in all, whether it is finished."""
    parts: dict[str, tuple[float, bool]] = {}
    for day in days:
        for slug, seconds, finished in day.done.code:
            before, ended = parts.get(slug, (0.0, False))
            parts[slug] = (before + seconds, ended or finished)
    return [(slug, seconds, finished) for slug, (seconds, finished) in parts.items()]


class StudyPlan(NamedTuple):
    """What to do each day until the interview, and how much is recalled then.

    ``recall`` is the expected share of questions and code, by weight, that is recalled on the day, between
    ``low`` and ``high`` with a chance of 80 %; ``questions`` and ``code`` are the shares of either, ``usual``
    is what the present settings give in the same minutes. ``seen`` is the share of ``cards`` ever shown,
    ``written`` the number of ``exercises`` ever passed. ``topics`` are those of the deck.
    """

    date: date
    target: float
    recall: float
    low: float
    high: float
    questions: float
    code: float
    usual: float
    seen: float
    cards: int
    written: int
    exercises: int
    choice: PolicyChoice
    days: Sequence[PlannedDay]
    alternatives: Sequence[Alternative]
    topics: Sequence[str]

    @property
    def policy(self) -> Policy:
        """The policy chosen."""
        return self.choice.policy

    def settings(self, new_per_day: int, reviews_per_day: int) -> dict[str, float | int]:
        """The settings with which the drill follows the plan as long as there are new cards.

        ``new_per_day`` and ``reviews_per_day`` are those in force; they stay unless they are in the way, and
        new cards become more in steps.
        """
        learning = [day.done for day in self.days if day.done.new]
        if not learning:
            return {"desired_retention": self.policy.retention}
        new = _new_limit(sum(done.new for done in learning) / len(learning), new_per_day, len(learning))
        reviews = _review_limit([done.reviews for done in learning], reviews_per_day)
        if not self.policy.share:
            reviews = max(reviews_per_day, reviews)
            new = new_per_day if self.policy.pace == new_per_day else new
        return {
            "desired_retention": self.policy.retention,
            "new_per_day": new,
            "reviews_per_day": reviews,
        }


def _new_limit(average: float, present: int, days: int) -> int:
    """A limit of new cards a day for ``days`` days that bring so many on average.

    The average moves from one morning to the next, so ``present`` stays while it is near. It grows by half at
    most, since each new card brings reviews on the days after it, unless too few days are left for steps.
    It falls at once. From ten on it is a multiple of five.
    """
    if present and abs(average - present) <= max(1, _NEAR_PRESENT * present):
        return present
    if days > _FEW_DAYS:
        average = min(average, max(_GROWTH * present, present + _LEAST_STEP))
    return max(1, round(average) if average < 10 else 5 * round(average / 5))


def _review_limit(reviews: Sequence[int], present: int) -> int:
    """A limit of reviews a day for days with so many: ``present`` unless it is far from them.

    A plan made anew counts a little differently, and must not take back what the last one advised.
    """
    usual, most = sum(reviews) / len(reviews), max(1, *reviews)
    return present if usual <= present <= _LOOSE * most else most


class PlanInputs(NamedTuple):
    """Everything that a plan follows from; equal inputs give equal plans. They can be pickled.

    The fields are the arguments of `make_plan`, which another process may run.
    """

    deck: PlanDeck
    slots: Sequence[CalendarDay]
    until: date
    usual: Policy
    target: float
    code_share: float

    def plan(self, tick: Callable[[], None] = lambda: None) -> StudyPlan:
        """Compute the plan, which takes seconds."""
        return make_plan(
            self.deck,
            self.slots,
            self.until,
            self.usual,
            target=self.target,
            code_share=self.code_share,
            tick=tick,
        )


def make_plan(
    deck: PlanDeck,
    slots: Sequence[CalendarDay],
    until: date,
    usual: Policy,
    *,
    target: float,
    code_share: float,
    tick: Callable[[], None] = lambda: None,
) -> StudyPlan:
    """The plan over the slots of a calendar; equal arguments give equal plans."""
    days = [slot.day for slot in slots]
    search = PolicySearch(deck, days, code_share, tick)
    choice = search.choose(usual)
    runs = choice.runs
    recall = mean(runs)
    luck = _mean([(run.value - recall) ** 2 for run in runs])
    off = _Z80 * sqrt(luck + _mean([run.spread for run in runs]))
    typical = min(runs, key=lambda run: abs(run.value - recall))
    return StudyPlan(
        date=until,
        target=target,
        recall=recall,
        low=max(0.0, recall - off),
        high=min(1.0, recall + off),
        questions=_mean([run.questions for run in runs]),
        code=_mean([run.code for run in runs]),
        usual=mean(choice.usual_runs),
        seen=_mean([run.seen for run in runs]),
        cards=len(deck.names),
        written=typical.written,
        exercises=len(deck.tasks),
        choice=choice,
        days=[PlannedDay(slot, done) for slot, done in zip(slots, typical.days, strict=True)],
        alternatives=find_alternatives(search, choice.policy, recall, target) if recall < target else (),
        topics=tuple(dict.fromkeys(deck.topics)),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def plan_inputs(
    study: "Study", until: date, weights: StudyWeights, *, minutes: int | None = None, track: str = ""
) -> PlanInputs | None:
    """What the plan from the present study day to the eve of ``until`` follows from; None without cards.

    ``minutes`` a day replace those in the settings, except on days off; ``track`` names a path
    whose new cards may come first. It depends on nothing but the state, the settings and the day.
    """
    settings = study.settings
    deck = load_deck(study, weights, track)
    if not deck.names:
        return None
    sources = {review.source for review in study.store.tables.reviews(since=study.now().day)}
    # an incident within a mock interview belongs to it
    rehearsed = {MOCK} & sources or {INCIDENT} & sources
    slots = calendar(
        study.today(),
        until,
        minutes_of(settings, deck, minutes),
        spent=minutes_on(study, study.now().day),
        rehearsed=rehearsed,
    )
    usual = Policy(settings.desired_retention, settings.new_per_day, PATH)
    code_share = weights.code_share if deck.tasks else 0.0
    return PlanInputs(deck, slots, until, usual, settings.plan.target, code_share)


def plan_today(
    study: "Study",
    until: date,
    weights: StudyWeights,
    *,
    minutes: int | None = None,
    track: str = "",
    tick: Callable[[], None] = lambda: None,
) -> StudyPlan | None:
    """Compute the plan from `plan_inputs`; None without cards."""
    inputs = plan_inputs(study, until, weights, minutes=minutes, track=track)
    return inputs.plan(tick) if inputs else None


def minutes_of(settings: Settings, deck: PlanDeck, minutes: int | None) -> Callable[[date], float]:
    """The minutes of a date: those given, else those of the settings, else by pace and limits."""
    plan = settings.plan
    base = minutes or plan.minutes or usual_minutes(settings, deck)

    def minutes_on(when: date) -> float:
        of_weekday = plan.weekdays.get(when.weekday(), base)
        return base if minutes and of_weekday else of_weekday

    return minutes_on


def usual_minutes(settings: Settings, deck: PlanDeck) -> int:
    """Minutes a day that the learner's pace makes of the limits of the settings, in steps of five.

    A new card takes two answers on its day; as soon as the pace is steady, each brings three reviews a day.
    """
    seconds = sum(deck.seconds) / (len(deck.seconds) or 1)
    new = settings.new_per_day
    answers = 2 * new + min(settings.reviews_per_day, _REVIEWS_PER_NEW * new)
    low, high = _DEFAULT_RANGE
    return min(max(5 * round(seconds * answers / 300), low), high)


def as_json(plan: StudyPlan, new_per_day: int, reviews_per_day: int) -> dict[str, object]:
    """The object of ``plan --json``; the arguments are the limits of the settings in force."""
    policy = plan.policy
    return {
        "schema": SCHEMA,
        "date": plan.date.isoformat(),
        "days": len(plan.days),
        "target": plan.target,
        "recall": {"expected": _share(plan.recall), "low": _share(plan.low), "high": _share(plan.high)},
        "questions": {"recall": _share(plan.questions), "seen": _share(plan.seen), "total": plan.cards},
        "code": {"recall": _share(plan.code), "written": plan.written, "total": plan.exercises},
        "present_settings": {"recall": _share(plan.usual)},
        "policy": {
            "retention": policy.retention,
            "new_per_day": min(policy.pace, plan.cards),
            "order": policy.order,
            "share_for_new": policy.share,
            "last_pass": policy.ahead,
            "new_in_taper": policy.late,
        },
        "settings": plan.settings(new_per_day, reviews_per_day),
        "ways": [_way(way) for way in plan.alternatives],
        "calendar": [_day(day) for day in plan.days],
    }


def _share(value: float) -> float:
    return round(value, 4)


def _way(way: Alternative) -> dict[str, object]:
    return way._asdict() | {"recall": _share(way.recall), "cost": _share(way.cost)}


def _day(day: PlannedDay) -> dict[str, object]:
    slot, done = day.calendar_day, day.done
    return {
        "date": slot.date.isoformat(),
        "available": round(slot.minutes, 1),
        "minutes": day.minutes,
        "reviews": done.reviews,
        "new": done.new,
        "topics": dict(done.topics),
        "exercises": [
            {"exercise": slug, "minutes": round(seconds / 60, 1), "done": finished}
            for slug, seconds, finished in done.code
        ],
        "rehearsal": {"kind": slot.rehearsal, "minutes": slot.rehearsal_minutes} if slot.rehearsal else None,
    }
