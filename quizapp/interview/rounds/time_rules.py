"""The time rules of a round: what a question takes, and how many fit.

A question gets its nominal time, never less. Where the minutes of a round do not hold all questions and
follow-ups, there are fewer of them. What is left over is the reserve at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from quizapp.bank.model import Exercise, Stage
from quizapp.practice.staged_run import leading_stages

SHORTEST_SHARE, LONGEST_SHARE = 0.8, 1.5
"""The bounds of the time for an answer, as shares of the nominal time of its question."""
RECALL_SHARE = 0.75
"""The least share of recall in the question time of concepts and mixed rounds."""


@dataclass(frozen=True, slots=True)
class NominalTimes:
    """What an answer takes, in seconds.

    ``recall`` is by level, for answers in words. ``other`` is by slot, for everything else. ``follow_ups``
    is the most follow-ups that a question of a slot may have, ``follow_up`` the seconds for each.
    """

    recall: Mapping[str, int]
    other: Mapping[str, int]
    follow_ups: Mapping[str, int]
    follow_up: int

    def seconds(self, slot: str, kind: str) -> int:
        """The nominal seconds for the answer to a question."""
        return self.recall[slot] if kind == "recall" and slot in self.recall else self.other[slot]


def asked_stages(exercise: Exercise, seconds: int, *, first_only: bool) -> tuple[Stage, ...]:
    """The leading core stages that a coding task of at most ``seconds`` asks for; empty if none fits.

    An exercise without stages of its own has one, which takes the minutes of the exercise.
    """
    stages = tuple(
        replace(stage, minutes=stage.minutes or exercise.minutes)
        for stage in exercise.stages
        if stage.is_core
    )
    return leading_stages(stages[:1] if first_only else stages, seconds / 60)
