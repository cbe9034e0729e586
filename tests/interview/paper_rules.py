"""The rules of a paper, checked one by one; used by the tests and by the benchmark over 10,000 seeds."""

from collections import Counter
from collections.abc import Iterator
from math import ceil

from quizapp.bank.model import Bank
from quizapp.incidents.model import IncidentLibrary
from quizapp.incidents.selection import holds_false_alarm
from quizapp.interview.blueprint import PHASE_OF, Blueprint
from quizapp.interview.code_review.sample_review import sample_review
from quizapp.interview.paper.code_rounds import CODE_ROUNDS, debug_program
from quizapp.interview.paper.knowledge import Knowledge
from quizapp.interview.paper.model import Paper, PaperQuestion
from quizapp.interview.paper.open_rounds import OPEN_ROUNDS
from quizapp.interview.paper.sample import NO_INCIDENTS

LONG_ROUNDS = {*OPEN_ROUNDS, *CODE_ROUNDS}
"""Rounds about one thing, with other slots than a mixed round."""


def broken(
    paper: Paper, blueprint: Blueprint, bank: Bank, known: Knowledge, library: IncidentLibrary = NO_INCIDENTS
) -> Iterator[str]:
    """What a paper does against the rules that hold in every state."""
    picks = paper.picks
    yield from _incidents(paper, bank, library)
    yield from _times(paper, blueprint, bank)
    slugs = [pick.exercise for pick in picks]
    if len(set(slugs)) != len(slugs) and paper.plan.round.name not in LONG_ROUNDS:
        yield "an exercise slug twice"
    if sum(seconds for _, seconds in paper.seconds) != 60 * paper.plan.minutes:
        yield "phases do not sum to the length"
    seconds = dict(paper.seconds)
    for phase in {pick.phase for pick in picks}:
        if sum(pick.planned for pick in picks if pick.phase == phase) != seconds[phase]:
            yield f"items of {phase} do not sum to it"
    if any(pick.budget + sum(pick.follow_ups) != pick.planned or pick.budget <= 0 for pick in picks):
        yield "budget and follow-ups do not sum to the item"
    order = [list(seconds).index(pick.phase) for pick in picks]
    if order != sorted(order):
        yield "phases out of order"
    if paper.plan.round.name == "review":
        yield from _reviews(paper, known)
    if paper.plan.round.name in LONG_ROUNDS:
        return
    for place, pick in enumerate(picks):
        yield from _item(place, paper, bank, known)
        if pick.slot == "hard" and not any(
            p.slot == "medium" and p.topic == pick.topic for p in picks[:place]
        ):
            yield "a hard item before a medium of its topic"
    counts = Counter(pick.slot for pick in picks)
    if any(counts[slot] > paper.plan.counts[slot] for slot in PHASE_OF):
        yield "more items than the mix"


def _reviews(paper: Paper, known: Knowledge) -> Iterator[str]:
    """A review round asks for three different programs, none that was reviewed within two days."""
    if len(paper.picks) != 3 or len({pick.exercise for pick in paper.picks}) != 3:
        yield "not three reviews of different exercises"
    for pick in paper.picks:
        state = known.get(pick.card)
        if state is not None and (state.fresh or state.suspended):
            yield "reviewed within 48 hours or suspended"


def _times(paper: Paper, blueprint: Blueprint, bank: Bank) -> Iterator[str]:
    """The time rules, from the nominal times alone."""
    follow_up = blueprint.format.times.follow_up
    for pick in paper.picks:
        nominal = nominal_seconds(pick, blueprint, bank)
        if not 0.8 * nominal <= pick.budget <= 1.5 * nominal:
            yield f"{pick.budget} s for a question of {nominal} s"
        if any(not 0.8 * follow_up <= seconds <= 1.5 * follow_up for seconds in pick.follow_ups):
            yield "a squeezed follow-up"
        if len(pick.follow_ups) > 2:
            yield "three follow-ups"
    asked = [pick for pick in paper.picks if pick.slot in ("easy", "medium", "hard")]
    recall = sum(pick.planned for pick in asked if pick.kind == "recall")
    if paper.plan.round.name in ("concepts", "mixed") and 4 * recall < 3 * sum(p.planned for p in asked):
        yield "less than three quarters of the question time is recall"
    if paper.plan.round.name == "concepts" and any(pick.kind != "recall" for pick in asked):
        yield "a question in concepts that is not recall"


def nominal_seconds(pick: PaperQuestion, blueprint: Blueprint, bank: Bank) -> int:
    """The nominal seconds of an answer, by the table in docs/mock.md."""
    if pick.slot == "coding":
        stages = bank.exercises[pick.exercise].stages[: len(pick.stages)]
        assert pick.stages == tuple(stage.name for stage in stages)
        assert pick.stages
        return 60 * sum(stage.minutes or bank.exercises[pick.exercise].minutes for stage in stages)
    if pick.slot == "hypotheses":
        return 600
    if pick.live:
        return 1800
    if pick.slot == "debug":
        faults = len(debug_program(bank.exercises[pick.exercise], pick.seed).faults)
        return 480 * faults
    if pick.slot == "review":
        return 60 * sample_review(bank.exercises[pick.exercise], pick.seed).minutes
    if pick.slot == "design":
        minutes = {"requirements": 5, "arithmetic": 10, "plan": 15, "failure-modes": 10, "metrics": 5}
        return 60 * minutes[pick.phase]
    if pick.kind == "recall" and pick.slot in ("easy", "medium", "hard"):
        return {"easy": 90, "medium": 180, "hard": 240}[pick.slot]
    return blueprint.format.times.other[pick.slot]


def _item(place: int, paper: Paper, bank: Bank, known: Knowledge) -> Iterator[str]:
    pick = paper.picks[place]
    state = known.get(pick.card)
    if state is not None and (state.fresh or state.suspended):
        yield "seen within 48 hours or suspended"
    if pick.slot == "coding" or pick.kind == "incident":
        return
    question = bank.questions[pick.card]
    if question.topic == "interview-craft":
        yield "interview craft was drawn"
    staged = question.scenario and question.kind == "recall"
    if (pick.slot == "scenario") != staged:
        yield "a scenario in the wrong place"
    if pick.slot != "scenario" and question.level != pick.slot:
        yield "a question of the wrong level"


def _incidents(paper: Paper, bank: Bank, library: IncidentLibrary) -> Iterator[str]:
    picks = [pick for pick in paper.picks if pick.kind == "incident"]
    chosen = [library.incidents[pick.incident] for pick in picks]
    if any(pick.slot != "scenario" for pick in picks):
        yield "an incident outside the scenarios"
    if len({incident.fault_class for incident in chosen}) < len(chosen):
        yield "a fault class twice"
    for pick, incident in zip(picks, chosen, strict=True):
        if (pick.card, pick.exercise, pick.topic) != (incident.card, incident.exercise, incident.topic):
            yield "an incident under another card, exercise or topic"
        if incident.exercise not in bank.exercises:
            yield "an incident without its exercise"
        if pick.follow_ups or pick.budget != pick.planned:
            yield "an incident that does not have all of its time"
    alarm = sum(incident.false_alarm for incident in chosen)
    if alarm > holds_false_alarm(paper.seed):
        yield "a false alarm out of turn"


def unmet_incidents(paper: Paper, library: IncidentLibrary) -> Iterator[str]:
    """Wishes on scenarios that a library of some size meets."""
    picks = [pick for pick in paper.picks if pick.slot == "scenario"]
    chosen = [library.incidents[pick.incident] for pick in picks if pick.kind == "incident"]
    if len(chosen) < len(picks):
        yield "a scenario without an incident"
    kinds = {incident.one_batch for incident in chosen}
    alone = len(picks) == 1 and any(incident.false_alarm for incident in chosen)
    if "passes" not in kinds and not alone:
        yield "no one-batch test that passes"
    if paper.plan.minutes >= 45 and len(picks) > 1 and "fails" not in kinds:
        yield "no one-batch test that fails"
    if holds_false_alarm(paper.seed) and not any(incident.false_alarm for incident in chosen):
        yield "no false alarm where one is due"


def unmet(paper: Paper, known: Knowledge) -> Iterator[str]:
    """Wishes that a large bank meets: a full paper, 30 % unseen, topic shares within 1 of the quota."""
    picks = paper.picks
    # A quiz leaves out what does not fit, and its kinds decide how much that is.
    if len(picks) != sum(paper.plan.counts.values()) and paper.plan.round.name != "quiz":
        yield "slots left empty"
    questions = [pick for pick in picks if pick.slot != "coding"]
    if sum(pick.unseen for pick in questions) < ceil(0.3 * len(questions)):
        yield "fewer than 30 % unseen"
    seen = [known[p.card] for p in questions if p.card in known]
    if len(seen) >= 3 and sum(state.in_band for state in seen) < 0.5 * len(seen):
        yield "most seen questions outside the band"


def shares(paper: Paper, bank: Bank) -> float:
    """The largest distance of a topic's number of questions from its quota."""
    questions = [pick for pick in paper.picks if pick.slot != "coding"]
    stocked = {question.topic for question in bank.questions.values()}
    weights = {t: w for t, w in paper.plan.role.topic_weights.items() if t in stocked}
    whole = sum(weights.values())
    counts = Counter(pick.topic for pick in questions)
    return max(abs(counts[t] - len(questions) * w / whole) for t, w in weights.items())
