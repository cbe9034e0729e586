"""Selects the incidents that can be asked, and decides when a false alarm is due."""

import random

from quizapp.bank.model import Bank
from quizapp.incidents.model import Incident, IncidentLibrary

FALSE_ALARM_SHARE = 1 / 8
FALSE_ALARM_BLOCK = 8


def usable_incidents(library: IncidentLibrary, bank: Bank) -> list[Incident]:
    """The incidents whose exercise and topic the bank has."""
    return [
        incident
        for incident in library.incidents.values()
        if incident.exercise in bank.exercises and incident.topic in bank.topics
    ]


def holds_false_alarm(seed: int) -> bool:
    """Whether the interview with this seed contains a false alarm. About one in eight does."""
    rng = random.Random(f"{seed}:alarm")  # noqa: S311 - the same for the same seed, not a secret
    return rng.random() < FALSE_ALARM_SHARE


def is_false_alarm_turn(sittings: int) -> bool:
    """Whether the single incident after ``sittings`` others should be a false alarm.

    Exactly one in every block of eight is. Sampling per block avoids the long streaks that independent
    samples would produce.
    """
    block, place = divmod(sittings, FALSE_ALARM_BLOCK)
    rng = random.Random(f"{block}:turn")  # noqa: S311 - the same every time, not a secret
    return rng.randrange(FALSE_ALARM_BLOCK) == place
