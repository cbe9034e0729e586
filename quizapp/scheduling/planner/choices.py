"""What the learner can change about a plan: each choice with its reason and the settings that it writes."""

from collections.abc import Mapping
from math import floor
from typing import NamedTuple

from quizapp.scheduling.planner.alternatives import DROP, TIME, Alternative
from quizapp.scheduling.planner.plan import StudyPlan
from quizapp.scheduling.planner.plan_sentences import LEAST_TARGET, alternative_text, changes
from quizapp.settings.model import MOST_MINUTES, Settings

ChosenValue = float | str | list[str]


class PlanOption(NamedTuple):
    """One choice: a title, sentences that say why, and what it sets. One that sets nothing is only advice."""

    title: str
    why: tuple[str, ...]
    settings: Mapping[str, float]
    plan: Mapping[str, ChosenValue]

    @property
    def can_be_applied(self) -> bool:
        """Whether it sets anything."""
        return bool(self.settings or self.plan)


def plan_options(plan: StudyPlan, settings: Settings) -> list[PlanOption]:
    """The choices in order: let the drill follow the plan, then the ways to reach the target."""
    options = []
    changed = changes(plan, settings)
    if changed:
        why = tuple(
            f"{change.title} {_number(change.before)} → {_number(change.after)}. {change.why}"
            for change in changed
        )
        values = {change.key: change.after for change in changed}
        options.append(PlanOption("Let the drill follow the plan.", why, values, {}))
    options += [_way(way, plan, settings) for way in plan.alternatives]
    # Advice that cannot be applied comes last, so that the others are numbered without a gap.
    return sorted(options, key=lambda option: not option.can_be_applied)


def _way(way: Alternative, plan: StudyPlan, settings: Settings) -> PlanOption:
    title, _, why = alternative_text(way, plan).partition(": ")
    values: dict[str, ChosenValue] = {}
    if way.kind == TIME and way.reaches:
        values = {"minutes": min(MOST_MINUTES, _minutes(plan, settings) + way.minutes)}
    elif way.kind == DROP and way.reaches:
        values = {"leave_out": [*settings.plan.leave_out, *way.levels, *way.topics]}
    elif way.kind not in {TIME, DROP} and (target := floor(100 * plan.recall) / 100) >= LEAST_TARGET:
        values, why = {"target": target}, "The plan then works toward this figure."
    sentence = f"{why[:1].upper()}{why[1:]}"
    return PlanOption(title if title.endswith(".") else f"{title}.", (sentence,), {}, values)


def _minutes(plan: StudyPlan, settings: Settings) -> int:
    """The minutes of an ordinary day: the eve has half of them, and today only what is left."""
    *days, eve = (day.calendar_day.minutes for day in plan.days)
    return settings.plan.minutes or round(max([2 * eve, *days]))


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 1 else str(round(value))
