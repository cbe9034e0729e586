"""Which exercise the home screen offers next."""

from quizapp.bank import LEVELS
from quizapp.scheduling.service import Study

_ORDER = {"due": 0, "started": 1, "new": 2}


def next_exercise(study: Study) -> str | None:
    """The exercise due again, else one that was started, else the easiest new one; None if none is left."""
    due = study.due_exercises()
    if due:
        return due[0].id.partition(":")[2]
    states = study.exercise_states()
    open_ones = [
        (_ORDER[states[slug].state], LEVELS.index(exercise.level), place, slug)
        for place, (slug, exercise) in enumerate(study.bank.exercises.items())
        if slug in states and states[slug].state in _ORDER
    ]
    return min(open_ones)[3] if open_ones else None
