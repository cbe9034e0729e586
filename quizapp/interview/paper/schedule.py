"""Puts the questions of a paper in order and gives each its time.

A question gets its nominal time, never less. Where the minutes of a round do not hold all questions and
follow-ups, there are fewer of them. What is left over is the reserve at the end.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from quizapp.bank.model import Bank
from quizapp.interview.blueprint import InterviewPlan
from quizapp.interview.paper.model import Paper, PaperQuestion
from quizapp.interview.rounds.time_rules import NominalTimes


def timed(plan: InterviewPlan, bank: Bank, picks: Sequence[PaperQuestion], seed: int) -> Paper:
    """Order the picks, give each its budget, and sum the phases; what is left over is the reserve."""
    ordered = ordered_picks(picks, random.Random(f"{seed}:order"))  # noqa: S311 - the same for the same seed, not a secret
    room = 60 * plan.minutes - plan.brief_s
    return laid_out(plan, seed, fitted(ordered, plan.times, bank, room, follow_ups=plan.follow_ups))


def laid_out(plan: InterviewPlan, seed: int, picks: Sequence[PaperQuestion]) -> Paper:
    """Build the paper from questions that have their times, in order."""
    phases = dict.fromkeys(pick.phase for pick in picks)
    rows = [("brief", plan.brief_s)]
    rows += [(name, sum(pick.planned for pick in picks if pick.phase == name)) for name in phases]
    rows.append(("reserve", 60 * plan.minutes - sum(seconds for _, seconds in rows)))
    return Paper(plan, seed, tuple(row for row in rows if row[1]), tuple(picks))


def fitted(
    picks: Sequence[PaperQuestion], times: NominalTimes, bank: Bank, room: int, *, follow_ups: bool
) -> list[PaperQuestion]:
    """Give each pick its nominal time; leave picks out, and add follow-ups, as ``room`` seconds allow.

    A pick that has a budget already, such as a coding task, keeps it.
    """
    asked = [pick if pick.budget else _answer_only(pick, times) for pick in picks]
    while asked and sum(pick.planned for pick in asked) > room:
        del asked[_dispensable(asked)]
    spare = room - sum(pick.planned for pick in asked)
    # Everybody's first follow-up comes before anybody's second.
    for number in range(max(times.follow_ups.values(), default=0) if follow_ups else 0):
        for place, pick in enumerate(asked):
            if spare >= times.follow_up and _may_ask(pick, number, times, bank):
                probes = (*pick.follow_ups, times.follow_up)
                asked[place] = replace(pick, planned=pick.planned + times.follow_up, follow_ups=probes)
                spare -= times.follow_up
    return asked


def _answer_only(pick: PaperQuestion, times: NominalTimes) -> PaperQuestion:
    seconds = times.seconds(pick.slot, pick.kind)
    return replace(pick, planned=seconds, budget=seconds, follow_ups=())


def _may_ask(pick: PaperQuestion, number: int, times: NominalTimes, bank: Bank) -> bool:
    question = bank.questions.get(pick.card)
    if pick.kind != "recall" or question is None or len(pick.follow_ups) != number:
        return False
    return number < min(times.follow_ups.get(pick.slot, 0), len(question.follow_ups))


def _dispensable(picks: Sequence[PaperQuestion]) -> int:
    """The place of the pick to leave out: the last one that no hard question of its topic builds on."""
    hard = {pick.topic for pick in picks if pick.slot == "hard"}
    places = range(len(picks) - 1, -1, -1)
    free = (i for i in places if not (picks[i].slot == "medium" and picks[i].topic in hard))
    return next(free, len(picks) - 1)


def ordered_picks(picks: Sequence[PaperQuestion], rng: random.Random) -> list[PaperQuestion]:
    """Order by phase and shuffle within; a hard question comes after a medium one of its topic."""
    by_slot: dict[str, list[PaperQuestion]] = {}
    for pick in picks:
        by_slot.setdefault(pick.slot, []).append(pick)
    for group in by_slot.values():
        rng.shuffle(group)
    concepts = list(by_slot.get("medium", []))
    for hard in by_slot.get("hard", []):
        first = next(i for i, p in enumerate(concepts) if p.slot == "medium" and p.topic == hard.topic)
        concepts.insert(rng.randint(first + 1, len(concepts)), hard)
    return [*by_slot.get("easy", []), *concepts, *by_slot.get("scenario", []), *by_slot.get("coding", [])]
