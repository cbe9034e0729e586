"""Chooses the incidents of a paper: the role's own, both kinds of one-batch test, weak classes first."""

import random
from collections.abc import Collection, Sequence

from quizapp.bank.model import Bank
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.interview.blueprint import InterviewPlan
from quizapp.interview.paper.knowledge import BAND, Knowledge

ALARM_SHARE = 1 / 8
ALARM_BLOCK = 8
BOTH_FROM_MINUTES = 45


class IncidentSampler:
    """Draws incidents for one attempt at a paper. ``met`` is False where a rule could not be kept."""

    def __init__(
        self,
        plan: InterviewPlan,
        library: IncidentLibrary,
        bank: Bank,
        known: Knowledge,
        seen: Collection[str],
    ) -> None:
        self.plan, self.known, self.seen = plan, known, seen
        self.ready = [
            incident
            for incident in at_hand(library, bank)
            if not ((state := known.get(incident.card)) and (state.fresh or state.suspended))
        ]
        self.tiers = {incident.id: self._tier(incident) for incident in self.ready}
        for incident in self.ready:  # of a weak class any variant will do, if one is the role's
            if self._weak(incident):
                kin = [other.id for other in self.ready if other.fault_class == incident.fault_class]
                self.tiers[incident.id] = min(self.tiers[name] for name in kin)
        self.met = True

    def _tier(self, incident: Incident) -> int:
        if incident.id in self.plan.role.scenario_pool:
            return 0
        return 1 if incident.topic in self.plan.role.topic_weights else 2

    def _weak(self, incident: Incident) -> bool:
        state = self.known.get(incident.card)
        return state is not None and state.recall <= BAND[1]

    def _rank(self, incident: Incident) -> tuple[bool, int, int]:
        """Lowest first: variants not asked yet, then the role's own, then weak classes, then unknown ones."""
        known = 1 if self.known.get(incident.card) is None else 2
        return incident.id in self.seen, self.tiers[incident.id], 0 if self._weak(incident) else known

    def kept_free(self, *, alarm: bool) -> frozenset[str]:
        """Exercises that a coding item had better leave to the false alarm."""
        return frozenset(i.exercise for i in self.ready if alarm and i.false_alarm)

    def draw(self, number: int, used: Collection[str], alarm: bool, rng: random.Random) -> list[Incident]:
        """Up to ``number`` incidents of different classes and exercises, none of an exercise in ``used``.

        One has a one-batch test that passes; in a long interview another one's fails. With ``alarm`` one of
        them is a false alarm, whose own one-batch test counts. Where there is but one incident to draw, the
        false alarm comes first, then a test that passes.
        """
        chosen: list[Incident] = []

        def take(wanted: Sequence[Incident]) -> bool:
            slugs = {*used, *(incident.exercise for incident in chosen)}
            classes = {incident.fault_class for incident in chosen}
            free = [i for i in wanted if i.exercise not in slugs and i.fault_class not in classes]
            if free and len(chosen) < number:
                best = min(map(self._rank, free))
                chosen.append(rng.choice([i for i in free if self._rank(i) == best]))
            return bool(free)

        faults = [incident for incident in self.ready if not incident.false_alarm]
        if alarm:
            take([incident for incident in self.ready if incident.false_alarm])
        needs = ["passes"]
        if self.plan.minutes >= BOTH_FROM_MINUTES and number > 1:
            needs.append("fails")
        for need in needs:
            if len(chosen) < number and need not in {incident.one_batch for incident in chosen}:
                self.met &= take([incident for incident in faults if incident.one_batch == need])
        while len(chosen) < number and take(faults):
            pass
        rng.shuffle(chosen)
        return chosen


def at_hand(library: IncidentLibrary, bank: Bank) -> list[Incident]:
    """The incidents whose exercise and topic the bank has."""
    return [
        incident
        for incident in library.incidents.values()
        if incident.exercise in bank.exercises and incident.topic in bank.topics
    ]


def alarms(seed: int) -> bool:
    """Whether the interview of a seed holds a false alarm: about one in eight does."""
    return random.Random(f"{seed}:alarm").random() < ALARM_SHARE  # noqa: S311 - the same for the same seed


def alarm_turn(sitting: int) -> bool:
    """Whether the run sat alone after ``sitting`` others is to be a false alarm: one of eight, at random.

    Blocks keep long gaps and streaks away, which chance alone would bring into so few sittings.
    """
    block, place = divmod(sitting, ALARM_BLOCK)
    return random.Random(f"{block}:turn").randrange(ALARM_BLOCK) == place  # noqa: S311 - no secret
