"""Whether the learner is on track for the interview, in the few facts that the home screen shows.

A plan takes seconds, so its outlook is kept in the cache until the day, the settings or the content change.
"""

import contextlib
import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quizapp import paths
from quizapp.scheduling.planner.alternatives import DROP, TIME, Alternative
from quizapp.scheduling.planner.plan import StudyPlan
from quizapp.scheduling.planner.plan_sentences import left_out, percent
from quizapp.util.atomic import write_atomic
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


class Outlook(NamedTuple):
    """Expected and wanted recall on the day (shares), what would help, and what the plan brings today."""

    recall: float
    target: float
    help: str
    minutes: int
    reviews: int
    new: int
    rehearsal: str
    exercises: tuple[str, ...]

    @property
    def on_track(self) -> bool:
        """Whether as much will be recalled as the learner wants."""
        return self.recall >= self.target


def outlook_of(plan: StudyPlan) -> Outlook:
    """The outlook of a plan."""
    today = plan.days[0]
    return Outlook(
        plan.recall,
        plan.target,
        _help(plan),
        today.minutes,
        today.done.reviews,
        today.done.new,
        today.calendar_day.rehearsal,
        tuple(dict.fromkeys(slug for slug, _, _ in today.done.code)),
    )


def _help(plan: StudyPlan) -> str:
    """The cheapest change that reaches the target, as a sentence; empty where none is needed."""
    if not plan.alternatives:
        return ""
    for way in plan.alternatives:
        if way.reaches and way.kind == TIME:
            return f"{plural(way.minutes, 'more minute')} a day would reach it."
        if way.reaches and way.kind == DROP:
            return _fewer(way, plan)
    return "The time is short: see in the plan what to put first."


def _fewer(way: Alternative, plan: StudyPlan) -> str:
    what = left_out(way, plan)
    return f"{what[0].upper()}{what[1:]}, and you reach {percent(way.recall)} of the rest."


def cached_outlook(study: "Study") -> Outlook | None:
    """The outlook that was computed today from the same settings and content; None without one."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(_path().read_text(encoding="utf-8"))
        if kept.pop("from") == _fingerprint(study):
            return Outlook(**kept | {"exercises": tuple(kept["exercises"])})
    return None


def keep_outlook(study: "Study", outlook: Outlook) -> None:
    """Keep an outlook for the rest of the day. Where the cache cannot be written, it is computed again."""
    with contextlib.suppress(OSError):
        write_atomic(_path(), json.dumps({"from": _fingerprint(study), **outlook._asdict()}))


def _path() -> Path:
    return paths.cache() / "outlook.json"


def _fingerprint(study: "Study") -> str:
    """What an outlook depends on, but for today's answers, which change it little."""
    settings = study.settings
    plan = settings.plan
    facts = (
        study.now().day,
        plan.until.isoformat() if plan.until else "",
        plan._replace(weekdays=dict(plan.weekdays), until=None),
        settings.desired_retention,
        settings.new_per_day,
        settings.reviews_per_day,
        settings.tracks,
        settings.decks,
        len(study.bank.questions),
        study.model,
        len(study.mocks("done")),
    )
    return sha256(repr(facts).encode()).hexdigest()
