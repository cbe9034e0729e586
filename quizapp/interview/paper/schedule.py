"""Puts the questions of a paper in order and gives each its time."""

import random
from collections.abc import Sequence
from dataclasses import replace

from quizapp.bank.model import Bank
from quizapp.interview.blueprint import PHASES, Blueprint, InterviewPlan, split
from quizapp.interview.paper.model import Paper, PaperQuestion


def timed(
    blueprint: Blueprint, plan: InterviewPlan, bank: Bank, picks: Sequence[PaperQuestion], seed: int
) -> Paper:
    """Order the picks and give each a budget. The budgets sum to the seconds of their phase.

    The time of a phase without questions goes to the others in proportion, or to the wrap-up without any.
    """
    ordered = _ordered(picks, random.Random(f"{seed}:order"))  # noqa: S311 - the same for the same seed, not a secret
    seconds = dict(plan.seconds)
    filled = [phase for phase in PHASES if any(pick.phase == phase for pick in ordered)]
    empty = [p for p in PHASES if p not in filled and p not in {"brief", "wrap"} and seconds[p]]
    spare = sum(seconds[phase] for phase in empty)
    for phase in empty:
        seconds[phase] = 0
    if filled:
        shares = split(spare, [seconds[phase] or 1 for phase in filled])
        for phase, share in zip(filled, shares, strict=True):
            seconds[phase] += share
    else:
        seconds["wrap"] += spare
    picked: list[PaperQuestion] = []
    for phase in filled:
        questions = [pick for pick in ordered if pick.phase == phase]
        nominal = blueprint.format.nominal
        parts = split(seconds[phase], [nominal[pick.slot] for pick in questions])
        picked += [
            _budgeted(blueprint, bank, pick, part) for pick, part in zip(questions, parts, strict=True)
        ]
    rows = tuple((phase, seconds[phase]) for phase in PHASES if seconds[phase])
    return Paper(plan, seed, rows, tuple(picked))


def _budgeted(blueprint: Blueprint, bank: Bank, pick: PaperQuestion, planned: int) -> PaperQuestion:
    """Give the pick its time, a part of which is kept for its follow-up questions."""
    question = bank.questions.get(pick.card)
    shape = blueprint.format
    number = 0
    if question is not None and question.kind == "recall":
        number = min(shape.follow_ups.get(pick.slot, 0), len(question.follow_ups))
    share = shape.follow_up_share.get(pick.slot, 0.0) / max(1, shape.follow_ups.get(pick.slot, 1)) * number
    follow_ups = split(round(planned * share), [1.0] * number)
    budget = planned - sum(follow_ups)
    return replace(pick, planned=planned, budget=budget, follow_ups=tuple(follow_ups))


def _ordered(picks: Sequence[PaperQuestion], rng: random.Random) -> list[PaperQuestion]:
    """Order by phase and shuffle within; a hard item comes after a medium one of its topic."""
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
