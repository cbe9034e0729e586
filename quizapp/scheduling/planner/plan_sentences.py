"""The sentences about a plan that the command and the screen share: the verdict, the ways out, the advice."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from math import floor
from typing import NamedTuple

from quizapp.bank.model import Exercise
from quizapp.scheduling.next_step import OpenTask
from quizapp.scheduling.planner.alternatives import DROP, TIME, Alternative
from quizapp.scheduling.planner.load_deck import TRACK
from quizapp.scheduling.planner.plan import StudyPlan
from quizapp.settings.model import Settings
from quizapp.util.text import plural

FIXED = "\xa0"
"""The no-break space, which keeps a number and its unit on one line."""
LEAST_TARGET = 0.05  # the settings accept nothing lower
_WEEK_DAYS = 7
_MOST_TASKS = 4


class SettingChange(NamedTuple):
    """A setting that the plan would change, and why."""

    key: str
    title: str
    before: float
    after: float
    why: str


def percent(share: float) -> str:
    """A share from 0 to 1 in percent, which no line break tears apart."""
    return f"{100 * share:.0f}{FIXED}%"


def verdict(plan: StudyPlan, settings: Settings) -> Iterator[str]:
    """The time left, the expected recall against the target, and what the present settings would give."""
    days = len(plan.days)
    minutes = Counter(round(day.calendar_day.minutes) for day in plan.days if day.calendar_day.minutes > 0)
    usual = minutes.most_common(1)[0][0] if minutes else 0
    if days == 1:
        left = f"1 day, {usual} minutes"
    else:
        left = f"{days} days, {usual} minutes a day" if usual else f"{days} days, all free"
    yield f"Interview on {plan.date:%A}, {plan.date.day} {plan.date:%B %Y}: {left}."
    yield ""
    verdict = "on target" if plan.recall >= plan.target else "below the target"
    yield (
        f"Expected recall on the day: {percent(plan.recall)} (80{FIXED}% interval {100 * plan.low:.0f}-"
        f"{100 * plan.high:.0f}), {verdict} of {percent(plan.target)}."
    )
    yield (
        f"Questions {percent(plan.questions)}: you will have seen {percent(plan.seen)} of {plan.cards} cards"
        f"; code {percent(plan.code)}: you will have passed {plan.written} of {plan.exercises} exercises."
    )
    if plan.choice.policy != plan.choice.usual:
        present = f"{settings.new_per_day} new a day, desired retention {settings.desired_retention:.2f}"
        what = f"Your present settings ({present})" if changes(plan, settings) else "The usual order of work"
        yield f"{what} would give {percent(plan.usual)} in the same time."


def besides(tasks: Sequence[OpenTask], exercises: Mapping[str, Exercise]) -> Iterator[str]:
    """The tasks of today that the plan does not simulate, one in a line with its command."""
    if not tasks:
        return
    yield "Besides, open today:"
    for task in tasks[:_MOST_TASKS]:
        yield f"- {task.text(exercises[task.slug].title)}: {task.command}"
    if len(tasks) > _MOST_TASKS:
        yield f"- and {plural(len(tasks) - _MOST_TASKS, 'other')}"


def ways_out(plan: StudyPlan) -> Iterator[str]:
    """The ways to reach the target, numbered; nothing if the plan reaches it."""
    if not plan.alternatives:
        return
    yield ""
    yield "Ways out:"
    for number, way in enumerate(plan.alternatives, 1):
        yield f"{number}. {alternative_text(way, plan)}"


def alternative_text(way: Alternative, plan: StudyPlan) -> str:
    """What one way out asks for and what it gives."""
    if way.kind == TIME:
        if way.reaches:
            return f"More time: {way.minutes} more minutes a day give {percent(way.recall)}."
        if not way.minutes:
            return "More time: the days are full."
        return f"More time: even {way.minutes} more minutes a day give only {percent(way.recall)}."
    if way.kind == DROP:
        cost, recall = percent(way.cost), percent(way.recall)
        if not (way.topics or way.levels):
            return "Less material: every topic is too much of the weight to leave it out."
        if not way.reaches:
            return (
                f"Less material: even without {cost} of the weight you would reach only {recall} of the rest."
            )
        what = left_out(way, plan)
        return f"Less material: {what} (losing {cost} of the weight) and reach {recall} of the rest."
    target = floor(100 * plan.recall) / 100
    if target < LEAST_TARGET:
        return f"Accept {percent(plan.recall)}."
    return f"Accept {percent(target)}: `target = {target:.2f}` under [plan] in the settings."


def left_out(way: Alternative, plan: StudyPlan) -> str:
    """Say what to leave out, or what to keep if that is shorter."""
    if way.levels:
        return f"leave out the {' and '.join(way.levels)} questions"
    kept = [topic for topic in plan.topics if topic not in way.topics]
    if len(kept) < len(way.topics):
        return f"keep only {', '.join(kept)}"
    return f"leave out {', '.join(way.topics)}"


def advice(plan: StudyPlan) -> Iterator[str]:
    """Advice that the figures alone do not give: which topics come first, a last pass, the taper."""
    policy = plan.policy
    soon = plan.days[0].calendar_day.date + timedelta(days=_WEEK_DAYS)
    topics = Counter[str]()
    for day in plan.days:
        if day.calendar_day.date < soon:
            topics.update(day.done.topics)
    if policy.order != plan.choice.usual.order and topics:
        if policy.order == TRACK:
            yield "New cards of your track come first: name it in `tracks` of the settings."
        else:
            names = [name for name, _ in topics.most_common(3)]
            yield f"New cards this week come from {', '.join(names)}: `quizapp drill --topic {names[0]}`."
    if policy.ahead:
        yield (
            "In the last days, also review cards that are not due, the least known first: `quizapp show ID`, "
            "then `quizapp answer ID good`."
        )
    if policy.late and any(day.done.new for day in plan.days):
        yield "New cards come until the end: so close to the day they help more than a rest."
    yield "The plan starts from what you know now: run it again each morning."


def changes(plan: StudyPlan, settings: Settings) -> list[SettingChange]:
    """The settings to change so that the drill follows the plan on an average day, if any."""
    wanted = plan.settings(settings.new_per_day, settings.reviews_per_day)
    present: dict[str, tuple[str, float]] = {
        "desired_retention": ("Desired retention", settings.desired_retention),
        "new_per_day": ("New cards a day at most", settings.new_per_day),
        "reviews_per_day": ("Reviews a day at most", settings.reviews_per_day),
    }
    return [
        SettingChange(
            key, title, before, wanted[key], _why(key, wanted[key] > before) + _today(key, wanted[key], plan)
        )
        for key, (title, before) in present.items()
        if key in wanted and wanted[key] != before
    ]


def _today(key: str, wanted: float, plan: StudyPlan) -> str:
    """Why today may bring more new cards than an average day, if it does."""
    new = plan.days[0].done.new
    return (
        f" This is the average of the days; today has time for {new}."
        if key == "new_per_day" and new > wanted
        else ""
    )


def _why(key: str, more: bool) -> str:
    if key == "desired_retention":
        return (
            "Cards come back sooner, so that more of them are known on the day."
            if more
            else "Cards come back later, which leaves time for cards that you have not seen."
        )
    if key == "new_per_day":
        return (
            "There is time to see more of the cards before the interview."
            if more
            else "More new cards would leave no time for their reviews and for code."
        )
    return (
        "The limit would hold back reviews that the plan counts on."
        if more
        else "Until the interview, a card that you have not seen is worth more than a review of one you know."
    )
