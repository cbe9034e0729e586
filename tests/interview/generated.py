"""Reports of chance: papers of the real bank with answers, times and markings that no learner would give."""

import random

from quizapp.incidents.diagnosis import BoughtReading, StatedDiagnosis
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.blueprint import Beat
from quizapp.interview.code_review.model import (
    Decision,
    FixOutcome,
    JudgedReview,
    ProofOutcome,
    ReviewAnswer,
)
from quizapp.interview.marking.model import Marking, WordsMarking
from quizapp.interview.marking.propose import propose
from quizapp.interview.paper.code_rounds import CODE_ROUNDS, CodeStock, sample_code_paper
from quizapp.interview.paper.model import InterviewHead
from quizapp.interview.paper.open_rounds import OPEN_ROUNDS, sample_open_paper
from quizapp.interview.paper.sample import sample_paper
from quizapp.interview.report.build import build
from quizapp.interview.report.model import load_report
from quizapp.interview.rounds.read_material import load_material
from quizapp.interview.rounds.round_table import ROUNDS
from quizapp.interview.session.flow import phases_of
from quizapp.interview.session.make_question import make_question
from quizapp.interview.session.question import CodeSubmission, InterviewQuestion, OwnCheck
from quizapp.interview.session.session import InterviewSession
from tests.interview.mock_kit import ROLES, blueprint, incidents, knowledge, real_bank

STATES = ("frozen", "frozen", "frozen", "cut", "lost", "abandoned", "unreached")


def report(seed: int, past: list | None = None, rules: int = 1) -> dict:
    rng = random.Random(seed)
    bank = real_bank()
    kind = rng.choice(list(ROUNDS.values())) if rules > 1 else ROUNDS["mixed"]
    plan = blueprint().plan(
        rng.choice(ROLES), rng.choice(kind.lengths), code=rng.random() < 0.7, round_name=kind.name
    )
    library = incidents() if seed % 4 else IncidentLibrary()
    if kind.name in OPEN_ROUNDS:
        paper = sample_open_paper(plan, load_material(), {}, seed)
    elif kind.name in CODE_ROUNDS:
        paper = sample_code_paper(CodeStock(plan, bank, {}, seed, library))
    else:
        paper = sample_paper(plan, bank, knowledge(bank, seed, 0.3), seed, library)
    spoken = rules > 1 and kind.may_be_spoken and rng.random() < 0.5
    items = [
        make_question(number, pick, bank, library, load_material(), rules=rules, spoken=spoken)
        for number, pick in enumerate(paper.picks)
    ]
    session = InterviewSession(phases_of(paper.seconds, blueprint().format.titles), items, lambda: 0.0)
    markings = []
    for item in items:
        happen(item, rng)
        markings.append(marked(item, rng))
    head = InterviewHead(
        schema=f"quizapp.mock/{rules}",
        id=f"g{seed}",
        seed=seed,
        role=plan.role.name,
        title="T",
        minutes=plan.minutes,
        code=plan.code,
        pass_mark=plan.role.pass_mark,
        blueprint="0",
        content_hash="0",
        app="0",
        torch="0",
        device="cpu",
        beats={},
        started=f"2026-03-{1 + seed % 27:02d}T19:00:00+00:00",
        rules=rules,
        round=kind.name if rules > 1 else "",
        spoken=spoken,
    )
    finished = f"2026-03-{1 + seed % 27:02d}T20:00:00+00:00"
    return build(head, finished, session, markings, [load_report(one) for one in past or []]).as_json()


def happen(item: InterviewQuestion, rng: random.Random) -> None:
    item.state = rng.choice(STATES)
    item.used_ms = rng.choice([0, rng.randint(0, 1500 * item.budget), 300 * item.budget, 1000 * item.budget])
    item.opened_ms = None if item.state == "unreached" else rng.randint(0, 60_000)
    item.confidence = rng.choice([None, 0, 25, 50, 75, 100])
    for probe in item.follow_ups:
        probe.state = "unreached"
    if item.state in {"unreached", "abandoned"} or rng.random() < 0.1:
        return
    if item.kind == "recall":
        say(item, rng)
    elif item.kind == "incident":
        diagnose(item, rng)
    elif item.kind == "estimate":
        item.typed = rng.choice([item.asked.worked, item.asked.answer, "no idea", ""])
        factor = rng.choice([1.0, 1.08, 0.93, 1.3, 0.7, 1.7, 0.4])
        item.given = rng.choice([str(item.asked.result * factor), "what", None])
    elif item.kind == "numeric":
        item.given = rng.choice([str(item.asked.result), "12", "what"])
    elif item.kind == "choice":
        item.given = rng.randrange(len(item.asked.options))
    elif item.kind == "order":
        item.given = rng.sample(range(len(item.asked.steps)), len(item.asked.steps))
    elif item.kind == "cloze":
        item.given = ["x", "1", ""]
    elif item.kind == "review":
        review(item, rng)
    else:
        code(item, rng)


def review(item: InterviewQuestion, rng: random.Random) -> None:
    """Judge the code by chance, and have a judge find anything."""
    asked = item.reviewed.review
    names = [fault.mutant for fault in asked.faults]
    right = [line for fault in asked.faults for line in fault.lines[:1]]
    some = rng.choice([names, names[:1], []])
    item.confidence = None
    item.typed = rng.choice(["", "no idea", "\n".join(fault.why for fault in asked.faults)])
    item.review = ReviewAnswer(
        decision=rng.choice([*Decision, None]),
        confidence=rng.choice([None, 0, 50, 75, 100]),
        lines=rng.choice([right, right[:1], [1, 2, 3, *right], []]),
    )
    proof = ProofOutcome(accepted=rng.random() < 0.7, caught=some or (["other"] if not names else []))
    fix = FixOutcome(passed=rng.random() < 0.3, repaired=some)
    item.judged = rng.choice([None, JudgedReview(proof, fix)])


def say(item: InterviewQuestion, rng: random.Random) -> None:
    """Answer in words, well or not, and some follow-ups; a spoken answer leaves no words."""
    texts = [item.asked.answer, item.asked.prompt, "no idea", "a, b, c"]
    item.typed = "" if item.spoken else rng.choice(texts)
    for probe in item.follow_ups:
        probe.state = rng.choice(["frozen", "cut", "unreached"])
        probe.typed = "" if item.spoken else rng.choice(["", probe.answer])


def code(item: InterviewQuestion, rng: random.Random) -> None:
    """Submit verdicts of chance."""
    item.typed = rng.choice(["", *(point.text for point in item.asked.key_points[:1])])
    for _ in range(rng.randint(0, 4)):
        tests = [{"name": "t", "behaviour": b, "passed": rng.random() < 0.6, "message": "", "seconds": 0}
                 for b in range(1, 6) for _ in range(2)]  # fmt: skip
        passed = all(test["passed"] for test in tests)
        verdict = {"schema": "quizapp.verdict/1", "status": "passed" if passed else "failed",
                   "passed": passed, "tests": tests, "exercise": item.exercise, "file": "",
                   "device": "cpu", "seconds": 1.0, "seed": 1, "tier": "T0", "error": None, "printed": "",
                   "notes": [], "versions": {}, "stages": stages_of(item, rng)}  # fmt: skip
        item.submissions.append(CodeSubmission(1, "", verdict))
        if item.stages:
            item.grade(item.submissions[-1])
    item.checks = [OwnCheck(rng.randint(0, 2), True, 0)] * rng.randint(0, 1)


def stages_of(item: InterviewQuestion, rng: random.Random) -> list[dict]:
    shown = item.staged_run.shown_stages if item.stages else ()
    return [{"name": stage.name, "passed": rng.random() < 0.6} for stage in shown]


def diagnose(item: InterviewQuestion, rng: random.Random) -> None:
    """Buy and commit by chance, rather often right."""
    asked = item.incident
    for reading in asked.readings:
        if rng.random() < 0.5:
            predicted = rng.choice([reading.outcome, rng.choice(reading.outcomes)])
            item.bought.append(BoughtReading(reading.id, reading.seconds, predicted, reading.outcome, 5))
    item.hints = rng.choice([0, 0, 1, 2])
    item.typed = rng.choice([asked.answer, asked.answer, asked.prompt, "no idea", ""])
    said = {
        "cause": rng.choice([asked.cause, rng.choice(asked.causes).id]),
        "place": rng.choice([asked.place, rng.choice(asked.places).id]),
        "states": [row.id for row in asked.states if row.right or rng.random() < 0.3],
        "decoy": rng.choice([*asked.decoys, rng.choice(asked.causes).id]),
        "reading": rng.choice(asked.readings).id,
    }
    kept = {key: value for key, value in said.items() if rng.random() < 0.9}
    item.given = StatedDiagnosis(**kept) if kept else None


def marked(item: InterviewQuestion, rng: random.Random) -> Marking:
    scene = "incident" if item.kind == "incident" else "scenario"
    rows = blueprint().format.beats[scene if item.scenario else "concept"]
    found = propose(item, [Beat(beat.name, beat.check) for beat in rows])
    if not isinstance(found, WordsMarking):
        return found
    for index in range(len(found.points)):
        if rng.random() < 0.4:
            quote = " ".join(item.typed.split()[:3]) if rng.random() < 0.5 else ""
            half = rng.random() < 0.3
            said = rng.random() < 0.6
            found.tick(index, item.typed, ticked=said, half=half, quote=quote)
    for row in found.misconceptions:
        row.stated = rng.random() < 0.2
    for row in found.follow_ups:
        row.held = rng.choice([0.0, 0.5, 1.0])
    return found
