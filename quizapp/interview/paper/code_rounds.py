"""Samples the papers of the rounds about one exercise: coding in stages, and debugging."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from quizapp.bank.model import Bank, Exercise, Stage
from quizapp.errors import QuizError
from quizapp.interview import RoundName
from quizapp.interview.blueprint import InterviewPlan
from quizapp.interview.paper.knowledge import Knowledge
from quizapp.interview.paper.model import Paper, PaperQuestion
from quizapp.interview.paper.schedule import laid_out
from quizapp.practice.faults import DEFAULT_FAULTS, FaultyProgram, plant_faults
from quizapp.practice.staged_run import leading_stages

HYPOTHESES_S = 600
FAULT_S = 480
"""The nominal seconds to find and fix one fault."""
_LEAST_FAULTS = 2


def sample_code_paper(plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: int) -> Paper:
    """Sample the paper of a coding or debug round. Raises `QuizError` if no exercise suits."""
    picks = CODE_ROUNDS[plan.round.name](plan, bank, cards, seed)
    if not picks:
        raise QuizError(f"no exercise suits a {plan.round.name} round now: all were seen within 48 hours")
    return laid_out(plan, seed, picks)


def second_task(
    plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: int, asked: str, seconds: int
) -> PaperQuestion | None:
    """A coding task on another exercise than ``asked`` that fits into ``seconds``; None without one."""
    exercises = [exercise for exercise in _ready(plan, bank, cards, seed) if exercise.slug != asked]
    return next((task for exercise in exercises if (task := _task(exercise, cards, seed, seconds))), None)


def all_stages(exercise: Exercise, seconds: int) -> tuple[Stage, ...]:
    """The leading stages, ``robust`` included, that fit into ``seconds``."""
    stages = (replace(stage, minutes=stage.minutes or exercise.minutes) for stage in exercise.stages)
    return leading_stages(tuple(stages), seconds / 60)


def debug_program(exercise: Exercise, seed: int) -> FaultyProgram:
    """The faulty program of a debug round."""
    return plant_faults(exercise, DEFAULT_FAULTS, seed)


def _ready(plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: int) -> list[Exercise]:
    """Exercises in the order to try them: the role's own, then those of its topics, then others."""
    rng = random.Random(f"{seed}:{plan.role.name}:{plan.round.name}")  # noqa: S311 - sampled again from its seed
    ready = [
        exercise
        for slug, exercise in sorted(bank.exercises.items())
        if not ((state := cards.get(f"exercise:{slug}")) and (state.fresh or state.suspended))
    ]
    rng.shuffle(ready)

    def rank(exercise: Exercise) -> int:
        if exercise.slug in plan.role.coding_pool:
            return 0
        return 1 if exercise.topic in plan.role.topic_weights else 2

    return sorted(ready, key=rank)


def _task(exercise: Exercise, cards: Knowledge, seed: int, seconds: int) -> PaperQuestion | None:
    stages = all_stages(exercise, seconds)
    if not stages or not stages[0].is_core:
        return None
    budget = 60 * sum(stage.minutes for stage in stages)
    pick = _pick("coding", f"exercise:{exercise.slug}", exercise, cards, seed, budget)
    return replace(pick, phase="coding", stages=tuple(stage.name for stage in stages))


def _coding(plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: int) -> Sequence[PaperQuestion]:
    room = 60 * plan.minutes - plan.brief_s
    tasks = (_task(exercise, cards, seed, room) for exercise in _ready(plan, bank, cards, seed))
    task = next((task for task in tasks if task is not None), None)
    return [] if task is None else [task]


def _debug(plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: int) -> Sequence[PaperQuestion]:
    for exercise in _ready(plan, bank, cards, seed):
        try:
            faults = len(debug_program(exercise, seed).faults)
        except QuizError:  # it has no mutants that suit
            continue
        if faults < _LEAST_FAULTS:
            continue
        think = _pick("hypotheses", f"debug:{exercise.slug}", exercise, cards, seed, HYPOTHESES_S)
        fix = _pick("debug", f"exercise:{exercise.slug}", exercise, cards, seed, faults * FAULT_S)
        return [
            replace(think, kind="recall", phase="hypotheses", recall=None),
            replace(fix, phase="debug"),
        ]
    return []


def _pick(
    slot: str, card: str, exercise: Exercise, cards: Knowledge, seed: int, seconds: int
) -> PaperQuestion:
    state = cards.get(f"exercise:{exercise.slug}")
    return PaperQuestion(
        slot,
        card,
        exercise.slug,
        exercise.topic,
        exercise.level,
        "coding",
        round(state.recall, 4) if state else None,
        state is None,
        seed,
        planned=seconds,
        budget=seconds,
        phase=slot,
    )


CODE_ROUNDS: Mapping[str, Callable[[InterviewPlan, Bank, Knowledge, int], Sequence[PaperQuestion]]] = {
    RoundName.CODING: _coding,
    RoundName.DEBUG: _debug,
}
"""The rounds of this module, by name."""
