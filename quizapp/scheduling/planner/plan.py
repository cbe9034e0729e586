"""The plan to a date: calendar, best policy, verdict and ways out, from the state alone."""

from collections.abc import Callable, Sequence
from datetime import date
from math import sqrt
from typing import NamedTuple

from quizapp.scheduling.planner.alternatives import Way, ways_out
from quizapp.scheduling.planner.calendar import Slot
from quizapp.scheduling.planner.deck import Deck
from quizapp.scheduling.planner.policy_search import Choice, Search, mean
from quizapp.scheduling.planner.simulate import Done, Policy

_Z80 = 1.2816  # 80 % of a normal distribution lie within so many standard deviations


class Planned(NamedTuple):
    """A day of the plan and what a typical course does on it."""

    slot: Slot
    done: Done

    @property
    def minutes(self) -> int:
        """Minutes in all, the rehearsal included."""
        return round(self.done.seconds / 60 + self.slot.rehearsal_minutes)


class Plan(NamedTuple):
    """What to do each day until the interview, and what it comes to.

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
    choice: Choice
    days: Sequence[Planned]
    ways: Sequence[Way]
    topics: Sequence[str]

    @property
    def policy(self) -> Policy:
        """The policy taken."""
        return self.choice.policy

    def settings(self, new_per_day: int, reviews_per_day: int) -> dict[str, float | int]:
        """The settings with which the drill follows the plan as long as there are new cards.

        ``new_per_day`` and ``reviews_per_day`` are those in force; they stay where they do not hinder.
        """
        learning = [day.done for day in self.days if day.done.new]
        if not learning:
            return {"desired_retention": self.policy.retention}
        new = max(1, round(sum(done.new for done in learning) / len(learning)))
        if self.policy.share:
            reviews = max(1, round(sum(done.reviews for done in learning) / len(learning)))
        else:
            reviews = max(reviews_per_day, *(day.done.reviews for day in self.days))
            new = new_per_day if self.policy.pace == new_per_day else new
        return {
            "desired_retention": self.policy.retention,
            "new_per_day": new,
            "reviews_per_day": reviews,
        }


def make_plan(
    deck: Deck,
    slots: Sequence[Slot],
    until: date,
    usual: Policy,
    *,
    target: float,
    code_share: float,
    tick: Callable[[], None] = lambda: None,
) -> Plan:
    """The plan over the slots of a calendar; equal arguments give equal plans."""
    days = [slot.day for slot in slots]
    search = Search(deck, days, code_share, tick)
    choice = search.choose(usual)
    courses = choice.courses
    recall = mean(courses)
    luck = _mean([(course.value - recall) ** 2 for course in courses])
    off = _Z80 * sqrt(luck + _mean([course.spread for course in courses]))
    typical = min(courses, key=lambda course: abs(course.value - recall))
    return Plan(
        date=until,
        target=target,
        recall=recall,
        low=max(0.0, recall - off),
        high=min(1.0, recall + off),
        questions=_mean([course.questions for course in courses]),
        code=_mean([course.code for course in courses]),
        usual=mean(choice.usual_courses),
        seen=_mean([course.seen for course in courses]),
        cards=len(deck.names),
        written=typical.written,
        exercises=len(deck.tasks),
        choice=choice,
        days=[Planned(slot, done) for slot, done in zip(slots, typical.days, strict=True)],
        ways=ways_out(search, choice.policy, recall, target) if recall < target else (),
        topics=tuple(dict.fromkeys(deck.topics)),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
