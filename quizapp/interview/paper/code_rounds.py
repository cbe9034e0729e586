"""Samples the papers of the rounds about code: coding in stages, debugging, and code reviews."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from quizapp.bank.model import Bank, Exercise, Stage
from quizapp.errors import QuizError
from quizapp.incidents.live.live_work import LIVE_S, LiveMode
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.incidents.selection import holds_false_alarm
from quizapp.interview import RoundName
from quizapp.interview.blueprint import InterviewPlan
from quizapp.interview.code_review.sample_review import sample_review
from quizapp.interview.paper.knowledge import Knowledge
from quizapp.interview.paper.model import Paper, PaperQuestion, shortage
from quizapp.interview.paper.sample import NO_INCIDENTS, IncidentSampler, incident_question
from quizapp.interview.paper.schedule import laid_out
from quizapp.practice.faults import DEFAULT_FAULTS, FaultyProgram, plant_faults
from quizapp.practice.staged_run import leading_stages
from quizapp.scheduling.cards import CODE_REVIEW, EXERCISE
from quizapp.util.installation import JUDGE, install_command

HYPOTHESES_S = 600
FAULT_S = 480
"""The nominal seconds to find and fix one fault."""
_LEAST_FAULTS = 2
REVIEWS, RUNS = 3, 4
"""The most code reviews and broken runs of a round."""
_WITHOUT_TORCH = (
    "Without torch nothing can be graded, so this round has broken runs to diagnose. To install it: {}"
)


@dataclass(frozen=True, slots=True)
class CodeStock:
    """What the paper of a round about code is drawn from, and how.

    ``seen`` are incidents asked before. Without ``torch`` a debug round asks for nothing that is graded.
    """

    plan: InterviewPlan
    bank: Bank
    cards: Knowledge
    seed: int
    library: IncidentLibrary = NO_INCIDENTS
    seen: Collection[str] = ()
    torch: bool = True

    @property
    def room(self) -> int:
        """The seconds for questions."""
        return 60 * self.plan.minutes - self.plan.brief_s

    def random(self, what: str = "") -> random.Random:
        """A generator that gives the same numbers for the same seed, role and round."""
        key = f"{self.seed}:{self.plan.role.name}:{self.plan.round.name}"
        return random.Random(f"{key}:{what}" if what else key)  # noqa: S311 - sampled again from its seed


def sample_code_paper(stock: CodeStock) -> Paper:
    """Sample the paper of a coding, debug or review round. Raises `QuizError` if no exercise suits."""
    kind = stock.plan.round.name
    picks = CODE_ROUNDS[kind](stock)
    if not picks:
        raise QuizError(
            f"No exercise suits a {kind} round now: all were seen within 48 hours. Choose another round."
        )
    paper = laid_out(stock.plan, stock.seed, picks)
    if kind == RoundName.REVIEW and len(picks) < REVIEWS:
        return replace(paper, note=shortage(len(picks), REVIEWS, "review"))
    if kind == RoundName.DEBUG and not stock.torch and _drawn_form(stock) is not _runs:
        return replace(paper, note=_WITHOUT_TORCH.format(install_command(JUDGE)))
    return paper


def second_task(
    plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: int, asked: str, seconds: int
) -> PaperQuestion | None:
    """A coding task on another exercise than ``asked`` that fits into ``seconds``; None without one."""
    stock = CodeStock(plan, bank, cards, seed)
    exercises = [exercise for exercise in _ready(stock) if exercise.slug != asked]
    return next((task for exercise in exercises if (task := _task(exercise, cards, seed, seconds))), None)


def all_stages(exercise: Exercise, seconds: int) -> tuple[Stage, ...]:
    """The leading stages, ``robust`` included, that fit into ``seconds``."""
    stages = (replace(stage, minutes=stage.minutes or exercise.minutes) for stage in exercise.stages)
    return leading_stages(tuple(stages), seconds / 60)


def debug_program(exercise: Exercise, seed: int) -> FaultyProgram:
    """The faulty program of a debug round."""
    return plant_faults(exercise, DEFAULT_FAULTS, seed)


def _ready(stock: CodeStock, card: str = EXERCISE) -> list[Exercise]:
    """Exercises in the order to try them: the role's own, then those of its topics, then others.

    Those whose ``card``, with the slug behind it, is fresh or suspended are left out.
    """
    role = stock.plan.role
    ready = [
        exercise
        for slug, exercise in sorted(stock.bank.exercises.items())
        if not ((state := stock.cards.get(f"{card}{slug}")) and (state.fresh or state.suspended))
    ]
    stock.random().shuffle(ready)

    def rank(exercise: Exercise) -> int:
        if exercise.slug in role.coding_pool:
            return 0
        return 1 if exercise.topic in role.topic_weights else 2

    return sorted(ready, key=rank)


def _task(exercise: Exercise, cards: Knowledge, seed: int, seconds: int) -> PaperQuestion | None:
    stages = all_stages(exercise, seconds)
    if not stages or not stages[0].is_core:
        return None
    budget = 60 * sum(stage.minutes for stage in stages)
    pick = _pick("coding", f"exercise:{exercise.slug}", exercise, cards, seed, budget)
    return replace(pick, phase="coding", stages=tuple(stage.name for stage in stages))


def _coding(stock: CodeStock) -> list[PaperQuestion]:
    tasks = (_task(exercise, stock.cards, stock.seed, stock.room) for exercise in _ready(stock))
    task = next((task for task in tasks if task is not None), None)
    return [] if task is None else [task]


def _debug(stock: CodeStock) -> list[PaperQuestion]:
    """The form that the seed draws, else the next one that has something to ask."""
    drawn = _drawn_form(stock) if stock.torch else _runs
    forms = [drawn, *(form for form in DEBUG_FORMS if form is not drawn)]
    return next((picks for form in forms if (picks := form(stock))), [])


def _drawn_form(stock: CodeStock) -> "DebugForm":
    """The form of a debug round by its seed, each in a third of the rounds."""
    return stock.random("kind").choice(DEBUG_FORMS)


def _faults(stock: CodeStock) -> list[PaperQuestion]:
    """Hypotheses on code with faults, then finding and fixing them."""
    cards, seed = stock.cards, stock.seed
    for exercise in _ready(stock):
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


def _runs(stock: CodeStock) -> list[PaperQuestion]:
    """Hypotheses on broken runs from their symptoms alone, then the runs with their readings."""
    seconds = stock.plan.times.other["scenario"]
    sampler = IncidentSampler(stock.plan, stock.library, stock.bank, stock.cards, stock.seen)
    number = min(RUNS, (stock.room - HYPOTHESES_S) // seconds)
    rng = stock.random("runs")
    incidents = sampler.sample(number, (), holds_false_alarm(stock.seed), rng)
    if not incidents:
        return []
    runs = [_run(stock, incident, rng, seconds) for incident in incidents]
    return [_think_about(stock, incidents), *runs]


def _live_run(stock: CodeStock) -> list[PaperQuestion]:
    """Hypotheses on a broken run from its symptom and its script, then the run, to be repaired live."""
    sampler = IncidentSampler(stock.plan, stock.library, stock.bank, stock.cards, stock.seen)
    live = [incident for incident in sampler.ready if incident.live is not None]
    alarm = holds_false_alarm(stock.seed)
    wanted = [incident for incident in live if incident.false_alarm == alarm] or live
    if not wanted:
        return []
    rng = stock.random("live")
    incident = sampler.draw(wanted, rng)
    picks = [_think_about(stock, [incident]), _run(stock, incident, rng, LIVE_S)]
    return [replace(pick, live=LiveMode.CLOCK) for pick in picks]


def _run(stock: CodeStock, incident: Incident, rng: random.Random, seconds: int) -> PaperQuestion:
    state = stock.cards.get(incident.card)
    question = incident_question(incident, state, rng, unseen=incident.id not in stock.seen)
    return replace(question, planned=seconds, budget=seconds, phase="debug")


def _think_about(stock: CodeStock, incidents: Sequence[Incident]) -> PaperQuestion:
    first = incidents[0]
    return PaperQuestion(
        "hypotheses",
        f"debug:{first.id}",
        "",
        first.topic,
        first.level,
        "recall",
        None,
        unseen=True,
        seed=stock.seed,
        planned=HYPOTHESES_S,
        budget=HYPOTHESES_S,
        phase="hypotheses",
        about=tuple(incident.id for incident in incidents),
    )


def _reviews(stock: CodeStock) -> list[PaperQuestion]:
    """Code reviews of different exercises, as long as their minutes fit."""
    room = stock.room
    picks: list[PaperQuestion] = []
    for exercise in _ready(stock, CODE_REVIEW):
        if len(picks) == REVIEWS:
            break
        try:
            seconds = 60 * sample_review(exercise, stock.seed).minutes
        except QuizError:  # it has no mutants that suit
            continue
        if seconds <= room:
            room -= seconds
            card = f"{CODE_REVIEW}{exercise.slug}"
            pick = _pick("review", card, exercise, stock.cards, stock.seed, seconds)
            picks.append(replace(pick, kind="review", phase="review"))
    return picks


def _pick(
    slot: str, card: str, exercise: Exercise, cards: Knowledge, seed: int, seconds: int
) -> PaperQuestion:
    state = cards.get(card if card.startswith(CODE_REVIEW) else f"exercise:{exercise.slug}")
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


DebugForm = Callable[[CodeStock], list[PaperQuestion]]
DEBUG_FORMS: Sequence[DebugForm] = (_faults, _live_run, _runs)
"""The forms of a debug round, each of which is drawn alike."""
CODE_ROUNDS: Mapping[str, Callable[[CodeStock], list[PaperQuestion]]] = {
    RoundName.CODING: _coding,
    RoundName.DEBUG: _debug,
    RoundName.REVIEW: _reviews,
}
"""The rounds of this module, by name."""
