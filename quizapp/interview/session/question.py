"""A question of an interview: its content as asked, and the learner's answer.

Some attributes have other names than the keys of the stored JSON: ``rename`` holds the pairs.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

import msgspec

from quizapp.bank import Level, PointKind, QuestionKind
from quizapp.bank.model import (
    Bank,
    KeyPoint,
    Question,
)
from quizapp.bank.parameters import SampledQuestion
from quizapp.incidents.diagnosis import (
    BoughtReading,
    IncidentSnapshot,
    OfferedReading,
    StatedDiagnosis,
    snapshot,
)
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.paper.model import PaperQuestion
from quizapp.interview.session.asked import (
    AskedChoice,
    AskedCloze,
    AskedExercise,
    AskedNumber,
    AskedOrder,
    AskedQuestion,
    ask_exercise,
    ask_question,
)

CODING, INCIDENT = "coding", "incident"
"""The kinds of question that an interview adds to those of the bank."""
IN_WORDS = ("recall", INCIDENT)
"""The kinds that are answered in words and marked against key points."""


class QuestionState(StrEnum):
    """The state of a question of an interview, or of one of its follow-ups."""

    WAITING = "waiting"
    OPEN = "open"
    CONFIDENCE = "confidence"
    FOLLOW_UP = "probe"
    SKIPPED = "skipped"
    FROZEN = "frozen"
    CUT = "cut"
    LOST = "lost"
    ABANDONED = "abandoned"
    UNREACHED = "unreached"

    @property
    def closed(self) -> bool:
        """Whether the state is final."""
        return self in _CLOSED


WAITING, OPEN, CONFIDENCE = QuestionState.WAITING, QuestionState.OPEN, QuestionState.CONFIDENCE
FOLLOW_UP, SKIPPED, FROZEN = QuestionState.FOLLOW_UP, QuestionState.SKIPPED, QuestionState.FROZEN
CUT, LOST, ABANDONED = QuestionState.CUT, QuestionState.LOST, QuestionState.ABANDONED
UNREACHED = QuestionState.UNREACHED
_CLOSED = (FROZEN, CUT, LOST, ABANDONED, UNREACHED)


if TYPE_CHECKING:
    Asked = AskedQuestion | IncidentSnapshot
else:
    # msgspec refuses a union of untagged types, so `InterviewQuestion.from_json` converts by kind.
    Asked = Any

ASKED_BY_KIND: Mapping[str, type[AskedQuestion | IncidentSnapshot]] = {
    QuestionKind.RECALL: AskedQuestion,
    QuestionKind.NUMERIC: AskedNumber,
    QuestionKind.CHOICE: AskedChoice,
    QuestionKind.ORDER: AskedOrder,
    QuestionKind.CLOZE: AskedCloze,
    CODING: AskedExercise,
    INCIDENT: IncidentSnapshot,
}


class FollowUpAnswer(msgspec.Struct):
    """A follow-up question. ``answer`` is the reference, ``typed`` the learner's words."""

    ask: str
    answer: str
    budget: int
    used_ms: int = 0
    typed: str = ""
    state: QuestionState = WAITING


class CodeSubmission(msgspec.Struct):
    """Code that was sent to the judge, with the judge's verdict document as received."""

    at_ms: int
    source: str
    verdict: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether every hidden test passed."""
        return bool(self.verdict.get("passed"))

    @property
    def status(self) -> str:
        """The judge's verdict in one word."""
        return str(self.verdict.get("status", "no submission"))

    def behaviours(self) -> dict[int, bool]:
        """Map each behavior's number to whether all its tests passed."""
        held: dict[int, bool] = {}
        for test in self.verdict.get("tests", ()):
            held[test["behaviour"]] = held.get(test["behaviour"], True) and bool(test["passed"])
        return held


class OwnCheck(msgspec.Struct):
    """A run of the learner's own check. ``before`` counts the submissions that came before it."""

    at_ms: int
    ok: bool
    before: int


Given = int | str | list[int | str] | StatedDiagnosis | None
"""An answer that is not in words: the index of an option, a number as typed, indices of steps in order,
the words for the gaps, or a diagnosis. None if nothing was given."""


class InterviewQuestion(msgspec.Struct, rename={"asked": "question", "follow_ups": "probes"}):
    """One question of an interview.

    Times ending in ``_ms`` are milliseconds of the interview's clock; ``used_ms`` runs while the answer
    is open. ``planned`` and ``budget`` are seconds. ``typed`` is the answer in words, ``given`` the answer
    to the other kinds, ``code`` the source of a coding question. ``recall`` is the chance of recalling the
    card when the paper was made.
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
    asked: Asked
    follow_ups: list[FollowUpAnswer] = []
    state: QuestionState = WAITING
    used_ms: int = 0
    opened_ms: int | None = None
    first_key_ms: int | None = None
    frozen_ms: int | None = None
    typed: str = ""
    given: Given = None
    code: str = ""
    confidence: int | None = None
    hints: int = 0
    warned: int = 0
    submissions: list[CodeSubmission] = []
    checks: list[OwnCheck] = []
    bought: list[BoughtReading] = []

    @property
    def scenario(self) -> bool:
        """Whether it is a debugging scenario."""
        return self.slot == "scenario"

    @property
    def reached(self) -> bool:
        """Whether the learner saw the question, and it was not lost unanswered with the terminal."""
        return self.state != UNREACHED and (self.state != LOST or self.answered)

    @property
    def answered(self) -> bool:
        """Whether there is any answer at all."""
        return bool(self.typed.strip() or self.has_given or self.submissions)

    @property
    def has_given(self) -> bool:
        """Whether there is an answer that is not in words. The index 0, the first option, is one."""
        return self.given not in (None, "", [])

    @property
    def title(self) -> str:
        """Its title if it has one, else the prompt."""
        return self.short_title or self.asked.prompt

    @property
    def short_title(self) -> str:
        """Its title; empty for a question that has only a prompt."""
        return self.asked.title if isinstance(self.asked, AskedExercise | IncidentSnapshot) else ""

    @property
    def open_follow_up(self) -> FollowUpAnswer | None:
        """The follow-up question that is being asked."""
        return next((row for row in self.follow_ups if row.state == OPEN), None)

    # properties of some kinds only; incident, coding and display_order raise TypeError for others

    @property
    def incident(self) -> IncidentSnapshot:
        """The incident that was asked."""
        if not isinstance(self.asked, IncidentSnapshot):
            raise TypeError(f"{self.card} is not an incident")
        return self.asked

    @property
    def coding(self) -> AskedExercise:
        """The exercise that was asked."""
        if not isinstance(self.asked, AskedExercise):
            raise TypeError(f"{self.card} is not a coding question")
        return self.asked

    @property
    def display_order(self) -> list[int]:
        """The order in which options or steps are displayed."""
        if not isinstance(self.asked, AskedChoice | AskedOrder):
            raise TypeError(f"{self.card} has nothing to put in order")
        return self.asked.order

    @property
    def sequence(self) -> list[int]:
        """The steps in the order given so far."""
        return [int(step) for step in self.given] if isinstance(self.given, list) else []

    @property
    def gaps(self) -> list[str]:
        """The words given for the gaps."""
        return [str(word) for word in self.given] if isinstance(self.given, list) else []

    @property
    def diagnosis(self) -> StatedDiagnosis:
        """The diagnosis of an incident as stated so far."""
        return self.given if isinstance(self.given, StatedDiagnosis) else StatedDiagnosis()

    def reading(self, name: str) -> OfferedReading | None:
        """A reading that an incident offers."""
        return self.asked.reading(name) if isinstance(self.asked, IncidentSnapshot) else None

    def bought_reading(self, name: str) -> BoughtReading | None:
        """The purchase of a reading, or None if it was not bought."""
        return next((row for row in self.bought if row.reading == name), None)

    def readings_bought(self) -> list[tuple[OfferedReading, BoughtReading]]:
        """Each reading of an incident that was bought, with its purchase, in order."""
        pairs = [(self.reading(row.reading), row) for row in self.bought]
        return [(reading, row) for reading, row in pairs if reading is not None]

    @property
    def key_points(self) -> tuple[KeyPoint, ...]:
        """Its key points as the bank's type. The points of all sections of an incident become core points."""
        return tuple(
            point
            if isinstance(point, KeyPoint)
            else KeyPoint(point.text, point.weight, PointKind.CORE, tuple(point.terms))
            for point in self.asked.key_points
        )

    # storing

    def as_json(self) -> dict[str, Any]:
        """Return the stored form."""
        # Not `to_builtins`: it would keep the tuples of the bank's types, which never equal loaded lists.
        stored: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        for point in stored["question"].get("key_points", ()):
            # Written only where it is set, so that older documents are stored again as they were.
            if not point.get("must", True):
                del point["must"]
        return stored

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a stored question. ``data`` may have more keys, such as its marking."""
        question = msgspec.convert(data, cls)
        question.asked = msgspec.convert(data["question"], ASKED_BY_KIND[question.kind])
        return question


def make_question(
    number: int, pick: PaperQuestion, bank: Bank, library: IncidentLibrary | None = None
) -> InterviewQuestion:
    """Build the question for a place in a paper, with everything that asking and marking it needs."""
    follow_ups: list[FollowUpAnswer] = []
    asked: Asked
    if pick.kind == INCIDENT:
        assert library is not None
        asked = snapshot(library.incidents[pick.incident], library, pick.seed)
    elif pick.kind == CODING:
        asked = ask_exercise(bank.exercises[pick.exercise])
    else:
        question = bank.questions[pick.card]
        asked = ask_question(question, pick.seed)
        rows = zip(question.follow_ups, pick.follow_ups, strict=False)
        follow_ups = [FollowUpAnswer(row.ask, row.answer, seconds) for row, seconds in rows]
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
        follow_ups,
    )


def bank_question(item: InterviewQuestion) -> Question:
    """Rebuild the question as the bank's type from the stored fields alone."""
    asked = item.asked
    question = Question(
        id=item.card,
        topic=item.topic,
        level=Level(item.level),
        kind=QuestionKind(item.kind),
        prompt=asked.prompt,
        answer=asked.answer,
        exercise=item.exercise,
        say=asked.say,
        key_points=item.key_points,
        misconceptions=tuple(asked.misconceptions),
        follow_ups=tuple(asked.follow_ups),
    )
    match asked:
        case AskedNumber():
            return replace(question, unit=asked.unit, tolerance=asked.tolerance)
        case AskedChoice():
            return replace(question, options=tuple(asked.options))
        case AskedOrder():
            return replace(question, steps=tuple(asked.steps))
        case AskedCloze():
            return replace(question, text=asked.text)
        case _:
            return question


def sampled_values(item: InterviewQuestion) -> SampledQuestion:
    """Rebuild a numeric question with its values filled in from the stored fields alone."""
    asked = item.asked
    if not isinstance(asked, AskedNumber):
        return SampledQuestion(asked.prompt, asked.answer)
    return SampledQuestion(asked.prompt, asked.answer, asked.worked, {}, asked.result)
