"""The plan as JSON (``quizapp.plan/1``, described in docs/plan.md)."""

from typing import Any

from quizapp.scheduling.planner.alternatives import Way
from quizapp.scheduling.planner.plan import Plan, Planned

SCHEMA = "quizapp.plan/1"


def as_json(plan: Plan, new_per_day: int, reviews_per_day: int) -> dict[str, Any]:
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
        "ways": [_way(way) for way in plan.ways],
        "calendar": [_day(day) for day in plan.days],
    }


def _share(value: float) -> float:
    return round(value, 4)


def _way(way: Way) -> dict[str, Any]:
    found = way._asdict()
    return found | {"recall": _share(way.recall), "cost": _share(way.cost)}


def _day(day: Planned) -> dict[str, Any]:
    slot, done = day.slot, day.done
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
