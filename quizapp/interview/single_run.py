"""An incident sat by itself: an interview whose paper holds one incident and whose role is no blueprint's.

Its report is stored and marked like that of any interview, but no mock interview is compared with it.
"""

import random

from quizapp.incidents.model import Incident
from quizapp.interview.blueprint import INCIDENT_ROLE, Blueprint, InterviewPlan, Role
from quizapp.interview.paper.knowledge import CardKnowledge
from quizapp.interview.paper.model import Paper, PaperQuestion
from quizapp.interview.session.timing import CUT_SHARE

SLOT = PHASE = "scenario"
GOOD_FROM = 70  # from here on the review of the fault class is Good


def seconds_for(blueprint: Blueprint) -> int:
    """What the answer may take, in seconds: the nominal time of a scenario, as in the shortest interview."""
    return blueprint.format.nominal[SLOT]


def paper_of(
    incident: Incident, blueprint: Blueprint, state: CardKnowledge | None, seed: int, *, unseen: bool
) -> Paper:
    """The paper of one incident. The clock runs until the item is cut; no time is kept for anything else."""
    seconds = seconds_for(blueprint)
    length = round(CUT_SHARE * seconds)
    counts = {SLOT: 1}
    role = Role(INCIDENT_ROLE, incident.title, "A broken run to diagnose.", GOOD_FROM, {}, (), (), {}, {})
    plan = InterviewPlan(role, round(seconds / 60), False, {PHASE: length}, counts)
    pick = PaperQuestion(
        SLOT,
        incident.card,
        incident.exercise,
        incident.topic,
        incident.level,
        "incident",
        round(state.recall, 4) if state else None,
        unseen,
        random.Random(seed).getrandbits(31),  # noqa: S311 - the order of what is offered, not a secret
        planned=seconds,
        budget=seconds,
        incident=incident.id,
    )
    return Paper(plan, seed, ((PHASE, length),), (pick,))
