"""Samples the papers of the rounds that ask what is not drilled: estimates, a design, the own project."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from quizapp.bank.model import Question
from quizapp.errors import QuizError
from quizapp.interview import RoundName
from quizapp.interview.blueprint import InterviewPlan
from quizapp.interview.paper.model import Paper, PaperQuestion, shortage
from quizapp.interview.paper.schedule import laid_out
from quizapp.interview.rounds.material import (
    DESIGN_PHASES,
    QUANTITIES,
    Estimate,
    RoundMaterial,
)

ESTIMATES = 5
PROBES = 6
_FULL = {RoundName.NAPKIN: ESTIMATES, RoundName.PROJECT: PROBES + 1}
Asked = Mapping[str, int]
"""How often each card was asked in finished interviews."""
_Entry = TypeVar("_Entry")


def sample_open_paper(plan: InterviewPlan, material: RoundMaterial, asked: Asked, seed: int) -> Paper:
    """Sample the paper of a napkin, design or project round.

    What was asked least often comes first, then what fits the role's topics. With little material there are
    fewer questions. Raises ``QuizError`` if there is none at all.
    """
    rng = random.Random(f"{seed}:{plan.role.name}:{plan.round.name}")  # noqa: S311 - sampled again from its seed
    picks = OPEN_ROUNDS[plan.round.name](_Sampler(plan, material, asked, rng))
    if not picks:
        raise QuizError(
            f"there is nothing to ask in a {plan.round.name} round; 'quizapp check' names the fault"
        )
    paper = laid_out(plan, seed, picks)
    number = _FULL.get(plan.round.name, len(picks))
    return replace(paper, note=shortage(len(picks), number, "question")) if len(picks) < number else paper


class _Sampler:
    """What the samplers of all three rounds need."""

    def __init__(
        self, plan: InterviewPlan, material: RoundMaterial, asked: Asked, rng: random.Random
    ) -> None:
        self.plan, self.material, self.asked, self.rng = plan, material, asked, rng

    def choose(
        self, entries: Sequence[_Entry], card: Callable[[_Entry], str], topic: Callable[[_Entry], str]
    ) -> _Entry:
        """Choose among the entries that were asked least often, one of the role's topics if there is any."""

        def rank(entry: _Entry) -> tuple[int, bool]:
            return self.asked.get(card(entry), 0), topic(entry) not in self.plan.role.topic_weights

        best = min(map(rank, entries))
        return self.rng.choice([entry for entry in entries if rank(entry) == best])

    def pick(self, slot: str, card: str, question: Question, phase: str, seconds: int) -> PaperQuestion:
        """The place of a question in the paper."""
        return PaperQuestion(
            slot,
            card,
            question.exercise if question.exercise != "none" else "",
            question.topic,
            question.level,
            "estimate" if slot == "estimate" else question.kind,
            None,
            self.asked.get(card, 0) == 0 or slot == "estimate",  # new values make it a new question
            self.rng.getrandbits(31),
            planned=seconds,
            budget=seconds,
            phase=phase,
        )


def _estimates(sampler: _Sampler) -> list[PaperQuestion]:
    """Five estimates, one of each quantity as far as there are any."""
    left = list(sampler.material.estimates.values())
    chosen: list[Estimate] = []
    for about in sampler.rng.sample(QUANTITIES, len(QUANTITIES)):
        if wanted := [entry for entry in left if entry.about == about] or left:
            entry = sampler.choose(wanted, _estimate_card, lambda entry: entry.question.topic)
            chosen.append(entry)
            left.remove(entry)
    seconds = sampler.plan.times.other["estimate"]
    return [
        sampler.pick("estimate", _estimate_card(entry), entry.question, "napkin", seconds)
        for entry in chosen[:ESTIMATES]
    ]


def _estimate_card(entry: Estimate) -> str:
    return f"napkin:{entry.question.id}"


def _design(sampler: _Sampler) -> list[PaperQuestion]:
    """One design; each of its phases is marked by itself."""
    designs = list(sampler.material.designs.values())
    if not designs:
        return []
    design = sampler.choose(
        designs, lambda entry: f"design:{entry.id}-requirements", lambda entry: entry.topic
    )
    picks = []
    for name, (_, minutes) in DESIGN_PHASES.items():
        question = design.phases[name]
        picks.append(sampler.pick("design", f"design:{question.id}", question, name, 60 * minutes))
    return picks


def _project(sampler: _Sampler) -> list[PaperQuestion]:
    """The presentation, then stock probes."""
    sheet = sampler.material.project
    if sheet is None:
        return []
    times = sampler.plan.times.other
    first = sampler.pick(
        "presentation", _project_card(sheet.worksheet), sheet.worksheet, "presentation", times["presentation"]
    )
    left = list(sheet.probes)
    probes: list[PaperQuestion] = []
    while left and len(probes) < PROBES:
        probe = sampler.choose(left, _project_card, lambda entry: entry.topic)
        left.remove(probe)
        probes.append(sampler.pick("probe", _project_card(probe), probe, "probes", times["probe"]))
    return [first, *probes]


def _project_card(question: Question) -> str:
    return f"project:{question.id}"


OPEN_ROUNDS: Mapping[str, Callable[[_Sampler], list[PaperQuestion]]] = {
    RoundName.NAPKIN: _estimates,
    RoundName.DESIGN: _design,
    RoundName.PROJECT: _project,
}
"""The rounds of this module, by name."""
