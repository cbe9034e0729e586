"""A question of an interview: its content as asked, and the learner's answer.

Some attributes have other names than the keys of the stored JSON: ``rename`` holds the pairs.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

import msgspec

from quizapp.bank import PointKind, QuestionKind
from quizapp.bank.model import KeyPoint, Stage
from quizapp.incidents.diagnosis import (
    BoughtReading,
    IncidentSnapshot,
    OfferedReading,
    StatedDiagnosis,
)
from quizapp.incidents.live.live_work import LiveTask, LiveWork
from quizapp.incidents.model import CONTROL
from quizapp.interview.code_review.model import JudgedReview, ReviewAnswer
from quizapp.interview.session.asked import (
    AskedChoice,
    AskedCloze,
    AskedExercise,
    AskedNumber,
    AskedOrder,
    AskedQuestion,
    AskedReview,
)
from quizapp.judge.verdict import Verdict
from quizapp.practice.staged_run import StagedRun, StageGrade, StageOutcome

CODING, INCIDENT, ESTIMATE, REVIEW = "coding", "incident", "estimate", "review"
"""The kinds of question that an interview adds to those of the bank."""
DEBUG = "debug"
"""The slot of a coding task that is to find planted faults."""
FAULTS_STAGE = "faults"
"""The one stage of such a task; it holds once no behavior with a fault fails."""
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
    ESTIMATE: AskedNumber,
    REVIEW: AskedReview,
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


class AskedStage(msgspec.Struct, frozen=True):
    """A stage of an exercise as an interview asks for it."""

    name: str
    minutes: int
    brief: str
    behaviours: tuple[int, ...]


class OwnCheck(msgspec.Struct):
    """A run of the learner's own check. ``before`` counts the submissions that came before it."""

    at_ms: int
    ok: bool
    before: int


Given = int | str | list[int | str] | StatedDiagnosis | None
"""An answer that is not in words: the index of an option, a number as typed, indices of steps in order,
the words for the gaps, or a diagnosis. None if nothing was given."""


LATER: Mapping[str, object] = {
    "rules": 1,
    "spoken": False,
    "stages": [],
    "grades": [],
    "review": None,
    "judged": None,
    "live": None,
    "incident_rules": 1,
}
"""Keys that documents of version 1 do not have, with what they mean there. They are stored if they differ."""


class InterviewQuestion(msgspec.Struct, rename={"asked": "question", "follow_ups": "probes"}):
    """One question of an interview.

    Times ending in ``_ms`` are milliseconds of the interview's clock; ``used_ms`` runs while the answer
    is open. ``planned`` and ``budget`` are seconds. ``typed`` is the answer in words, ``given`` the answer
    to the other kinds, ``code`` the source of a coding question. ``recall`` is the chance of recalling the
    card when the paper was made. ``rules`` is the version of the rules that score it. ``stages`` are those
    that a coding task asks for, and ``grades`` what was graded of them. ``spoken`` says that the answer is
    given aloud. ``review`` is the answer to a code review but its words, and ``judged`` what the judge found
    out about it. ``live`` is the work on an incident that is sat live. ``incident_rules`` is the version of
    the rules for an incident: from 2 on, words and readings without a diagnosis are capped.
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
    rules: int = 1
    spoken: bool = False
    stages: list[AskedStage] = []
    grades: list[StageGrade] = []
    review: ReviewAnswer | None = None
    judged: JudgedReview | None = None
    live: LiveWork | None = None
    incident_rules: int = 1

    @property
    def staged_run(self) -> StagedRun:
        """The run through the stages of a coding task, as far as it got."""
        stages = (Stage(row.name, row.minutes, row.brief, row.behaviours) for row in self.stages)
        return StagedRun(tuple(stages), list(self.grades))

    def grade(self, submission: CodeSubmission) -> StageOutcome:
        """Record what a verdict says about the stages that are shown."""
        run = self.staged_run
        if self.slot == DEBUG:
            held = submission.behaviours()
            found = bool(held) and all(held.get(number) for number in self.stages[0].behaviours)
            names = (FAULTS_STAGE,) if found else ()
            self.grades = [*self.grades, StageGrade(self.used_ms / 1000, 1, names, judged=bool(held))]
            return self.staged_run.outcome()
        outcome = run.record(Verdict.from_json(submission.verdict), self.used_ms / 1000)
        self.grades = run.grades
        return outcome

    @property
    def was_spoken(self) -> bool:
        """Whether the learner answered aloud, so that nothing is written."""
        return self.spoken and self.state in (CONFIDENCE, FOLLOW_UP, FROZEN, CUT)

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
        decided = self.review is not None and self.review.decision is not None
        worked = self.live is not None and bool(self.live.runs or self.live.source)
        given = self.has_given or bool(self.submissions) or self.was_spoken or decided or worked
        return bool(self.typed.strip()) or given

    @property
    def nothing_given(self) -> bool:
        """Whether there is nothing yet where something can be typed or chosen, now or in the follow-up.

        The working of an estimate is not its answer: half of the marks are for the number.
        """
        if self.spoken:
            return False
        follow_up = self.open_follow_up
        if self.kind == ESTIMATE and follow_up is None:
            return not self.has_given
        return not (follow_up.typed.strip() if follow_up else self.answered or self.code)

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
        match self.asked:
            case AskedExercise() | AskedReview() | IncidentSnapshot():
                return self.asked.title
            case _:
                return ""

    @property
    def open_follow_up(self) -> FollowUpAnswer | None:
        """The follow-up question that is being asked."""
        return next((row for row in self.follow_ups if row.state == OPEN), None)

    # properties of some kinds only; the first ones raise TypeError for other kinds

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
    def live_task(self) -> LiveTask:
        """The program of a live incident."""
        if isinstance(self.asked, IncidentSnapshot) and isinstance(self.asked.live, LiveTask):
            return self.asked.live
        raise TypeError(f"{self.card} is not a live incident")

    @property
    def live_work(self) -> LiveWork:
        """The work on a live incident."""
        if self.live is None:
            raise TypeError(f"{self.card} is not sat live")
        return self.live

    @property
    def unjudged(self) -> bool:
        """Whether the judge still has to run what was handed in."""
        if self.live is not None:
            return self.live.measured is None
        return self.kind == REVIEW and self.judged is None

    @property
    def practice(self) -> bool:
        """Whether it is practice, where nothing costs time."""
        return self.live is not None and self.live.practice

    def is_committed(self, field: str) -> bool:
        """Whether a part of the diagnosis can no longer change, because the script was opened for it."""
        return self.live is not None and self.live.committed and field in ("cause", "place")

    @property
    def controlled(self) -> bool:
        """Whether an incident was run on another seed, as a reading or live."""
        if any(row.reading == CONTROL for row in self.bought):
            return True
        return self.live is not None and self.live.controlled(self.live_task)

    @property
    def reviewed(self) -> AskedReview:
        """The code review that was asked."""
        if not isinstance(self.asked, AskedReview):
            raise TypeError(f"{self.card} is not a code review")
        return self.asked

    @property
    def review_answer(self) -> ReviewAnswer:
        """The whole answer to a code review."""
        answer = self.review or ReviewAnswer()
        return msgspec.structs.replace(answer, words=self.typed, seconds=self.used_ms / 1000)

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
        return {key: value for key, value in stored.items() if key not in LATER or value != LATER[key]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a stored question. ``data`` may have more keys, such as its marking."""
        question = msgspec.convert(data, cls)
        question.asked = msgspec.convert(data["question"], ASKED_BY_KIND[question.kind])
        return question
