"""The plan as of today: the learner's state, settings and minutes put together."""

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

from quizapp.scheduling.planner.calendar import INCIDENT, MOCK, calendar
from quizapp.scheduling.planner.deck import Deck
from quizapp.scheduling.planner.load_deck import PATH, Weights, gather
from quizapp.scheduling.planner.plan import Plan, make_plan
from quizapp.scheduling.planner.simulate import Policy
from quizapp.settings.model import Settings

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

_LONGEST_ANSWER_S = 3600
_DEFAULT_RANGE = (10, 240)
_REVIEWS_PER_NEW = 3  # a day, once a steady pace has settled


def plan_today(
    study: "Study",
    until: date,
    weights: Weights,
    *,
    minutes: int | None = None,
    track: str = "",
    tick: Callable[[], None] = lambda: None,
) -> Plan | None:
    """The plan from the present study day to the eve of ``until``; None without cards to plan.

    ``minutes`` a day take the place of those in the settings, but days off stay free; ``track`` names a path
    whose new cards may come first. It depends on nothing but the state, the settings and the day.
    """
    settings = study.settings
    deck = gather(study, weights, track)
    if not deck.names:
        return None
    today = study.now().day
    done = study.store.reviews(since=today)
    spent = sum(min(review.ms / 1000, _LONGEST_ANSWER_S) for review in done) / 60
    sources = {review.source for review in done}
    # an incident within a mock interview belongs to it
    rehearsed = {MOCK} & sources or {INCIDENT} & sources
    slots = calendar(
        study.today(), until, minutes_of(settings, deck, minutes), spent=spent, rehearsed=rehearsed
    )
    usual = Policy(settings.desired_retention, settings.new_per_day, PATH)
    return make_plan(
        deck,
        slots,
        until,
        usual,
        target=settings.plan.target,
        code_share=weights.code_share if deck.tasks else 0.0,
        tick=tick,
    )


def minutes_of(settings: Settings, deck: Deck, minutes: int | None) -> Callable[[date], float]:
    """The minutes of a date: those given, else those of the settings, else by pace and limits."""
    plan = settings.plan
    base = minutes or plan.minutes or own_minutes(settings, deck)

    def of(when: date) -> float:
        own = plan.weekdays.get(when.weekday(), base)
        return base if minutes and own else own

    return of


def own_minutes(settings: Settings, deck: Deck) -> int:
    """Minutes a day that the learner's pace makes of the limits of the settings, in steps of five.

    A new card takes two answers on its day; as soon as the pace is steady, each brings three reviews a day.
    """
    seconds = sum(deck.seconds) / (len(deck.seconds) or 1)
    new = settings.new_per_day
    answers = 2 * new + min(settings.reviews_per_day, _REVIEWS_PER_NEW * new)
    low, high = _DEFAULT_RANGE
    return min(max(5 * round(seconds * answers / 300), low), high)
