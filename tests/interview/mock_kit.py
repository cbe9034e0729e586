"""Interviews in tests: a clock that is moved by hand, a study in a folder, and learners of several kinds."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.bank.model import (
    Bank,
    Exercise,
    FollowUp,
    KeyPoint,
    Misconception,
    Option,
    Question,
    Tolerance,
    Topic,
)
from quizapp.incidents.loader import load_library
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.blueprint import Blueprint, load_blueprint
from quizapp.interview.code_review.model import Decision, ReviewAnswer
from quizapp.interview.paper.knowledge import CardKnowledge
from quizapp.interview.service import Interview
from quizapp.interview.session.question import InterviewQuestion
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store import Store

EVENING = datetime(2026, 3, 2, 19, 0, tzinfo=UTC)
INCIDENTS = Path(__file__).parent.parent / "data" / "incidents"
ROLES = ("applied-fine-tuning", "training-infrastructure", "research-engineer", "post-training")


class Hand:
    """A monotonic clock moved by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@cache
def real_bank() -> Bank:
    return load_bank(cache=False)


@cache
def blueprint() -> Blueprint:
    return load_blueprint()


def incidents() -> IncidentLibrary:
    """Three that never change: one-batch test passes, fails, and a false alarm."""
    return load_library(INCIDENTS)


def library_of(bank: Bank) -> IncidentLibrary:
    """The incidents that go with a bank: those that never change with the bank that never changes."""
    return incidents() if bank is small_bank() else load_library()


@cache
def small_bank(topics: frozenset[str] = frozenset()) -> Bank:
    """A bank that never changes: every topic at every level. By default the topics are those of the roles."""
    topics = topics or frozenset(topic for role in blueprint().roles.values() for topic in role.topic_weights)
    made = {}
    for topic in sorted(topics):
        for level in ("easy", "medium", "hard"):
            for number, kind in enumerate(("recall", "recall", "choice", "order", "numeric")):
                name = f"{topic}-{level}-{number}"
                made[name] = _question(name, topic, level, kind, staged=level == "hard" and number == 1)
    exercises = {slug: _exercise(slug) for slug in ("lora", "adamw", "zero-memory")}
    return Bank(made, {topic: Topic(topic, topic.title(), "") for topic in topics}, exercises)


def _question(name: str, topic: str, level: str, kind: str, *, staged: bool) -> Question:
    points = (
        KeyPoint("The mean over the batch divides the gradient.", 3, terms=("mean", "average")),
        KeyPoint("A larger batch lowers the noise.", 2, terms=("noise", "variance")),
        KeyPoint("It costs memory.", 1, "trade-off", ("memory",)),
        KeyPoint("Log it in every step.", 1, "production", ("log",)),
    )
    probes = (FollowUp("And with a sum?", "Then it grows with the batch size."),)
    return Question(
        name, topic, level, kind, f"What happens to the gradient in {name}?", "The mean, because it divides.",
        f"write-{name}", scenario=staged, content_hash=name, tracks=("core",),
        key_points=points if kind == "recall" else (),
        follow_ups=probes if kind == "recall" else (),
        misconceptions=(Misconception("The gradient never depends on the batch size.", "Its noise does."),),
        options=(Option("It halves", "Right: mean.", True), Option("It doubles", "That is the sum.")),
        steps=("forward", "backward", "clip", "step"), values={"n": (2, 4, 8)}, formula="n * 2",
        tolerance=Tolerance(0.01), worked="{result}", unit="GB",
    )  # fmt: skip


def _exercise(slug: str) -> Exercise:
    point = KeyPoint("The base stays frozen, since only the adapter learns.", 2, terms=("frozen", "adapter"))
    folder = paths.exercises() / "lora"
    return Exercise(
        slug, slug.title(), "easy", "debugging", 10, "lora.py", {1: "one", 2: "two"}, (), folder, (point,)
    )


def study(folder: Path, bank: Bank | None = None, clock: FixedClock | None = None) -> Study:
    return Study(
        bank or real_bank(), Store.open(folder / "quizapp.db"), Settings(), clock or FixedClock(EVENING)
    )


def begin(
    made: Study, role: str = "research-engineer", minutes: int = 30, **options
) -> tuple[Interview, Hand]:
    hand = Hand()
    options = {"library": library_of(made.bank)} | options
    interview = Interview.begin(made, role, minutes, blueprint=blueprint(), clock=hand, **options)
    interview.start()
    return interview, hand


def knowledge(bank: Bank, seed: int, share: float) -> dict[str, CardKnowledge]:
    """A learner who has seen ``share`` of the bank, some of it within the last two days."""
    rng = random.Random(seed)
    names = [*bank.questions, *(f"exercise:{slug}" for slug in bank.exercises)]
    names += [f"review:{slug}" for slug in bank.exercises]
    names += sorted({incident.card for incident in library_of(bank).incidents.values()})
    return {
        name: CardKnowledge(rng.uniform(0.2, 1.0), rng.choice([2.0, 30.0, 60.0, 400.0]), rng.random() < 0.02)
        for name in names
        if rng.random() < share
    }


def wait(interview: Interview, hand: Hand, seconds: float, step: float = 1.0) -> list[str]:
    """Let time pass as a screen does, tick by tick."""
    said = []
    while seconds > 0:
        hand.seconds += min(step, seconds)
        seconds -= step
        said += interview.tick()
    return said


def answer_now(interview: Interview, text: str = "", confidence: int = 75) -> None:
    """Answer what is in hand, well or with ``text``, and any follow-up with its reference."""
    session = interview.session
    item = session.item
    assert item is not None
    if item.kind == "recall":
        session.type(text or item.asked.answer)
    elif item.kind == "estimate":
        session.type(text or item.asked.worked)
        session.give(text or str(item.asked.result))
    elif item.kind == "numeric":
        session.give(text or str(item.asked.result))
    elif item.kind == "choice":
        right = next(i for i, option in enumerate(item.asked.options) if option.right)
        session.give(right if not text else (right + 1) % len(item.asked.options))
    elif item.kind == "order":
        steps = list(range(len(item.asked.steps)))
        session.give(steps if not text else steps[::-1])
    elif item.kind == "cloze":
        session.give([text] if text else ["x"])
    elif item.kind == "incident":
        solve(interview, text)
    elif item.kind == "review":
        session.answer_review(review_answer(item, text))
    else:
        session.write_code("x = 1\n")
    number = item.number
    session.submit()
    session.confide(confidence)
    while (
        session.item is not None and session.item.number == number and session.item.open_follow_up is not None
    ):
        session.type(text or session.item.open_follow_up.answer)
        session.submit()


def review_answer(item: InterviewQuestion, text: str = "") -> ReviewAnswer:
    """The right answer to a code review but its test, or with ``text`` a wrong one."""
    review = item.reviewed.review
    right = Decision.CORRECT if review.is_correct else Decision.FAULTY
    wrong = Decision.FAULTY if review.is_correct else Decision.CORRECT
    return ReviewAnswer(
        decision=wrong if text else right,
        confidence=100,
        lines=[fault.lines[0] for fault in review.faults],
        words=text or "\n".join(fault.why for fault in review.faults),
        fixed=review.original,
    )


def solve(interview: Interview, text: str = "") -> None:
    """Answer the incident in hand: by the cheapest path, or with ``text`` and a wrong cause."""
    session = interview.session
    item = session.item
    asked = item.incident
    for name in asked.cheapest.readings:
        reading = item.reading(name)
        session.buy(name, reading.outcome if not text else reading.outcomes[0])
    if session.item is not item:
        return
    session.type(text or asked.answer)
    others = [row for row in asked.causes if row.id != asked.cause]
    session.commit("cause", asked.cause if not text else others[0].id)
    session.commit("place", asked.place if not text else asked.places[0].id)
    session.commit("states", [row.id for row in asked.states if row.right or text])
    decoy = next((row for row in others if row.id in asked.decoys and row.rejected_by), others[1])
    session.commit("decoy", decoy.id)
    bought = [name for name in decoy.rejected_by if item.bought_reading(name)]
    session.commit("reading", bought[0] if bought else "loss-curve")


def sit(interview: Interview, hand: Hand, seed: int = 0) -> None:
    """Sit the whole interview as a learner of chance: good, poor, slow, skipping, leaving early."""
    rng = random.Random(seed)
    early = rng.random() < 0.1
    for _ in range(400):
        session = interview.session
        if session.ended:
            return
        wait(interview, hand, rng.choice([3, 10, 25, 60, 120]), step=5.0)
        if session.ended:
            return
        item = session.item
        if item is None:
            session.proceed()
        elif item.state == "confidence":
            session.confide(rng.choice([0, 25, 50, 75, 100]))
        elif item.open_follow_up is not None or rng.random() < 0.8:
            if item.state == "open" or item.open_follow_up:
                answer_now(
                    interview,
                    rng.choice(["", "", "no idea at all, sorry about that"]),
                    rng.choice([0, 50, 75, 100]),
                )
        elif rng.random() < 0.5:
            session.skip()
        elif early:
            session.end("early")


def done(
    folder: Path, seed: int = 1, role: str = "research-engineer", minutes: int = 30, bank: Bank | None = None
) -> dict:
    """A finished report."""
    with study(folder, bank) as made:
        interview, hand = begin(made, role, minutes, seed=seed)
        sit(interview, hand, seed)
        if not interview.session.ended:
            interview.session.end("early")
        return interview.record().as_json()


def later(clock: FixedClock, **amount: float) -> None:
    clock.time += timedelta(**amount)


def only(name: str) -> IncidentLibrary:
    library = incidents()
    return replace(library, incidents={name: library.incidents[name]})


def at_incident(made, name: str = "flat-loss", rules: int = 1, **options):
    """An interview whose one scenario is in hand, weighed as an incident by itself unless ``rules`` is 2."""
    options = {"seed": 4, "code": False, "library": only(name)} | options
    interview, hand = begin(made, "research-engineer", 30, **options)
    session = interview.session
    session.proceed()
    for _ in range(40):
        if session.item is not None and session.item.kind == "incident":
            session.item.rules = rules
            return interview, hand, session.item
        session.submit()
        session.confide(50)
    raise AssertionError("no incident was drawn")


def finish(interview: Interview) -> None:
    interview.session.submit()
    interview.session.confide(75)
    interview.session.end("early")


async def sit_down(app, pilot, interview: Interview):
    """The screen of a running interview, opened over what the app shows."""
    from quizapp.tui.screens.interview.running import RunScreen

    await pilot.pause()
    screen = RunScreen(interview)
    app.push_screen(screen)
    await pilot.pause()
    return screen


async def mark_as_proposed(pilot) -> None:
    """Decide every line of every answer as it stands, up to what follows the marking."""
    from quizapp.tui.screens.interview.marking import MarkScreen

    for _ in range(300):
        if not isinstance(pilot.app.screen, MarkScreen):
            return
        await pilot.press("enter")
        await pilot.pause()
