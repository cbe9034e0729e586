"""One item of a running interview: the question as it was asked, and what happened to it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from quizapp.bank import Level, QuestionKind
from quizapp.bank.answers import shuffled
from quizapp.bank.model import (
    Bank,
    Exercise,
    FollowUp,
    KeyPoint,
    Misconception,
    Option,
    Question,
    Tolerance,
)
from quizapp.bank.parameters import SampledQuestion, sample_question
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.paper.model import PaperQuestion
from quizapp.interview.session.incident_snapshot import incident_snapshot

WAITING, OPEN, CONFIDENCE, PROBE, SKIPPED = "waiting", "open", "confidence", "probe", "skipped"
FROZEN, CUT, LOST, ABANDONED, UNREACHED = "frozen", "cut", "lost", "abandoned", "unreached"
INCIDENT = "incident"
IN_WORDS = ("recall", INCIDENT)  # answered in words that are marked against key points
EMPTY: tuple[Any, ...] = (None, "", [], {})
LIVE = (OPEN, CONFIDENCE, PROBE)
CLOSED = (FROZEN, CUT, LOST, ABANDONED, UNREACHED)


@dataclass(slots=True)
class FollowUpAnswer:
    """A follow-up question; ``answer`` is the reference, ``typed`` the learner's words."""

    ask: str
    answer: str
    budget: int
    used_ms: int = 0
    typed: str = ""
    state: str = WAITING


@dataclass(slots=True)
class InterviewQuestion:
    """``question`` holds all that marking needs, so that later edits of the bank change nothing.

    Times ending in ``_ms`` are milliseconds of the interview's clock; ``used_ms`` runs while the answer
    is open. ``typed`` is the answer in words, ``given`` that of machine-marked kinds (an option index, a
    list of indices, a list of gaps; of an incident the diagnosis, see ``incidents.diagnosis.FIELDS``),
    ``code`` the source of a coding item, ``bought`` the readings of an incident.
    """

    number: int
    slot: str
    phase: str
    card: str
    exercise: str
    topic: str
    level: str
    kind: str
    planned: int
    budget: int
    seed: int
    recall: float | None
    unseen: bool
    question: dict[str, Any]
    probes: list[FollowUpAnswer] = field(default_factory=list)
    state: str = WAITING
    used_ms: int = 0
    opened_ms: int | None = None
    first_key_ms: int | None = None
    frozen_ms: int | None = None
    typed: str = ""
    given: Any = None
    code: str = ""
    confidence: int | None = None
    hints: int = 0
    warned: int = 0
    submissions: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    bought: list[dict[str, Any]] = field(default_factory=list)

    @property
    def scenario(self) -> bool:
        """Whether it is a debugging scenario."""
        return self.slot == "scenario"

    @property
    def reached(self) -> bool:
        """Whether the learner had the question before them and the terminal held."""
        return self.state != UNREACHED and (self.state != LOST or self.answered)

    @property
    def answered(self) -> bool:
        """Whether anything was given at all."""
        return bool(self.typed.strip() or self.given not in EMPTY or self.submissions)

    @property
    def probe(self) -> FollowUpAnswer | None:
        """The follow-up question that is being asked."""
        return next((probe for probe in self.probes if probe.state == OPEN), None)

    def reading(self, name: str) -> dict[str, Any] | None:
        """A reading that an incident offers."""
        rows: list[dict[str, Any]] = self.question.get("readings", [])
        return next((row for row in rows if row["id"] == name), None)

    def bought_reading(self, name: str) -> dict[str, Any] | None:
        """The purchase of a reading, None where it was not bought."""
        return next((row for row in self.bought if row["reading"] == name), None)

    def as_json(self) -> dict[str, Any]:
        """Plain values, all of them."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "InterviewQuestion":
        """The item of which ``data`` is the JSON form; what marking added is left aside."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        values["probes"] = [
            FollowUpAnswer(**{f.name: probe[f.name] for f in fields(FollowUpAnswer)})
            for probe in data["probes"]
        ]
        return cls(**values)


def make_item(
    number: int, pick: PaperQuestion, bank: Bank, library: IncidentLibrary | None = None
) -> InterviewQuestion:
    """The item for a pick, with everything that is needed to ask and to mark it."""
    probes: list[FollowUpAnswer] = []
    if pick.kind == INCIDENT:
        assert library is not None
        asked = incident_snapshot(library.incidents[pick.incident], library, pick.seed)
    elif pick.kind == "coding":
        exercise = bank.exercises[pick.exercise]
        asked = exercise_snapshot(exercise)
    else:
        question = bank.questions[pick.card]
        asked = question_snapshot(question, pick.seed)
        follow = question.follow_ups[: len(pick.probes)]
        probes = [
            FollowUpAnswer(f.ask, f.answer, seconds) for f, seconds in zip(follow, pick.probes, strict=True)
        ]
    return InterviewQuestion(
        number,
        pick.slot,
        pick.phase,
        pick.card,
        pick.exercise,
        pick.topic,
        pick.level,
        pick.kind,
        pick.planned,
        pick.budget,
        pick.seed,
        pick.recall,
        pick.unseen,
        asked,
        probes,
    )


def question_snapshot(question: Question, seed: int) -> dict[str, Any]:
    """The question as asked under ``seed``, with its rubric."""
    drawn = sample_question(question, seed)
    found: dict[str, Any] = {
        "content_hash": question.content_hash,
        "prompt": drawn.prompt,
        "answer": drawn.answer,
        "say": question.say,
        "key_points": [_point(point) for point in question.key_points],
        "misconceptions": [{"wrong": m.wrong, "right": m.right} for m in question.misconceptions],
        "follow_ups": [{"ask": f.ask, "answer": f.answer} for f in question.follow_ups],
    }
    if question.kind == "numeric":
        found |= {
            "result": drawn.result,
            "unit": question.unit,
            "worked": drawn.worked,
            "tolerance": {
                "relative": question.tolerance.relative,
                "absolute": question.tolerance.absolute,
            },
        }
    elif question.kind == "choice":
        found["options"] = [{"text": o.text, "why": o.why, "right": o.right} for o in question.options]
        found["order"] = list(shuffled(question, seed))
    elif question.kind == "order":
        found["steps"] = list(question.steps)
        found["order"] = list(shuffled(question, seed))
    elif question.kind == "cloze":
        found["text"] = question.text
    return found


def exercise_snapshot(exercise: Exercise) -> dict[str, Any]:
    """The exercise as asked, with the rubric of what is to be explained."""
    return {
        "content_hash": "",
        "title": exercise.title,
        "prompt": exercise.prompt,
        "answer": exercise.solution,
        "say": "",
        "module": exercise.module,
        "starter": exercise.starter,
        "behaviours": {str(number): text for number, text in exercise.behaviours.items()},
        "key_points": [_point(point) for point in exercise.rubric],
        "misconceptions": [],
        "follow_ups": [],
    }


def _point(point: KeyPoint) -> dict[str, Any]:
    return {"text": point.text, "weight": point.weight, "kind": point.kind, "terms": list(point.terms)}


def question_of(item: InterviewQuestion) -> Question:
    """The question of an item as the bank's type, from the snapshot alone."""
    data = item.question
    tolerance = data.get("tolerance") or {}
    return Question(
        id=item.card,
        topic=item.topic,
        level=Level(item.level),
        kind=QuestionKind(item.kind),
        prompt=data["prompt"],
        answer=data["answer"],
        exercise=item.exercise,
        say=data.get("say", ""),
        key_points=points_of(item),
        misconceptions=tuple(Misconception(m["wrong"], m["right"]) for m in data["misconceptions"]),
        follow_ups=tuple(FollowUp(f["ask"], f["answer"]) for f in data["follow_ups"]),
        unit=data.get("unit", ""),
        tolerance=Tolerance(tolerance.get("relative", 0.0), tolerance.get("absolute", 0.0)),
        options=tuple(Option(o["text"], o["why"], o["right"]) for o in data.get("options", ())),
        steps=tuple(data.get("steps", ())),
        text=data.get("text", ""),
    )


def drawn_of(item: InterviewQuestion) -> SampledQuestion:
    """The drawn values of an item, from the snapshot alone."""
    data = item.question
    return SampledQuestion(
        data["prompt"], data["answer"], data.get("worked", ""), {}, float(data.get("result", "nan"))
    )


def points_of(item: InterviewQuestion) -> tuple[KeyPoint, ...]:
    """The key points of an item."""
    return tuple(
        KeyPoint(p["text"], p["weight"], p["kind"], tuple(p["terms"])) for p in item.question["key_points"]
    )
