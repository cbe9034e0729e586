"""Questions, exercises and faults as frozen dataclasses."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quizapp.bank import Level, PointKind, QuestionKind
from quizapp.util.restore import restore_by_slots

Number = int | float
Value = Number | str


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Source:
    """A paper or document that supports a fact."""

    authors: str
    year: int
    title: str

    def __str__(self) -> str:
        return f"{self.authors} ({self.year}), {self.title}"


@restore_by_slots
@dataclass(frozen=True, slots=True)
class KeyPoint:
    """One checkable statement of a full answer; a typed answer that contains one of ``terms`` shows it.

    ``must`` marks the points without which an answer is not good; see `musts`.
    """

    text: str
    weight: int = 1
    kind: PointKind = PointKind.CORE
    terms: tuple[str, ...] = ()
    must: bool = False


MAX_MUSTS = 3


def musts(points: Sequence[KeyPoint]) -> tuple[KeyPoint, ...]:
    """The points without which an answer is not good: those that say so.

    In a list in which none does, these are the core points of weight 3, at most `MAX_MUSTS`, in order.
    """
    marked = tuple(point for point in points if point.must)
    if marked:
        return marked
    heaviest = (point for point in points if point.weight == 3 and point.kind == PointKind.CORE)
    return tuple(itertools.islice(heaviest, MAX_MUSTS))


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Misconception:
    """A common false statement and its correction."""

    wrong: str
    right: str


@restore_by_slots
@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question that an interviewer may ask next, and its answer."""

    ask: str
    answer: str


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Option:
    """One option of a choice question, and why it is right or wrong."""

    text: str
    why: str
    right: bool = False


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far off a number may be: ``relative``, a fraction of the result, or ``absolute``, in its unit."""

    relative: float = 0.0
    absolute: float = 0.0


# One object for most questions, because the compiled bank keeps and restores every object.
DEFAULT_TOLERANCE = Tolerance()


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Question:
    """One unit of content. Fields that a kind does not use are empty.

    ``exercise`` is empty where a card of a user's deck has none.

    In a numeric question, ``values`` lists what each name may be, ``where`` is a condition on the choice, and
    ``let`` computes further names, in order. ``content_hash`` changes with anything that the learner sees.
    """

    id: str
    topic: str
    level: Level
    kind: QuestionKind
    prompt: str
    answer: str
    exercise: str
    say: str = ""
    sources: tuple[Source, ...] = ()
    tags: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    scenario: bool = False
    requires: tuple[str, ...] = ()
    parent: str = ""
    siblings: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    misconceptions: tuple[Misconception, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()
    key_points: tuple[KeyPoint, ...] = ()
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    where: str = ""
    let: Mapping[str, str] = field(default_factory=dict)
    formula: str = ""
    unit: str = ""
    tolerance: Tolerance = DEFAULT_TOLERANCE
    worked: str = ""
    options: tuple[Option, ...] = ()
    steps: tuple[str, ...] = ()
    text: str = ""
    file: str = ""
    line: int = 0
    content_hash: str = ""

    # The generated method would hash every field, and dicts are not hashable.
    def __hash__(self) -> int:
        return hash((self.id, self.content_hash))


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the bank."""

    slug: str
    name: str
    about: str


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Hint:
    """A hint. ``behaviours`` holds the numbers of the behaviors that it helps with; empty means all."""

    text: str
    behaviours: tuple[int, ...] = ()


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Forbidden:
    """Names that a submission may not use, and what to tell a learner who uses them.

    What is ``absent`` does not work in the worker at all, whoever calls it.
    """

    names: tuple[str, ...]
    says: str
    behaviour: int = 0
    absent: bool = False


ONLY_STAGE = "all"
"""The name of the stage of an exercise that is not divided into stages."""
ROBUST = "robust"
"""The name of the stage, always the last, with demands that an interviewer would not insist on."""


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Stage:
    """A step in which an interviewer extends the task.

    ``brief`` is what the learner is told in interview mode, ``minutes`` the time that the step should take.
    """

    name: str
    minutes: int
    brief: str
    behaviours: tuple[int, ...]

    @property
    def is_core(self) -> bool:
        """Whether the exercise counts as passed only if this stage holds."""
        return self.name != ROBUST


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Exercise:
    """A runnable task: a starter module and hidden tests in ``folder``.

    ``timeout`` is in seconds for one run. ``ranks`` holds the group sizes of distributed probes. ``stages``
    has at least one entry, and each behavior is in exactly one stage.
    """

    slug: str
    title: str
    level: Level
    topic: str
    minutes: int
    module: str
    behaviours: Mapping[int, str]
    hints: tuple[Hint, ...]
    folder: Path
    rubric: tuple[KeyPoint, ...] = ()
    forbidden: tuple[Forbidden, ...] = ()
    ranks: tuple[int, ...] = ()
    timeout: float = 10.0
    stages: tuple[Stage, ...] = (Stage(ONLY_STAGE, 0, "", ()),)

    def stage_of(self, behaviour: int) -> str:
        """The name of the stage of a behavior. The check of the allowed means, 0, is in the first stage."""
        return next((s.name for s in self.stages if behaviour in s.behaviours), self.stages[0].name)

    @property
    def prompt(self) -> str:
        """The task in Markdown."""
        return (self.folder / "prompt.md").read_text(encoding="utf-8")

    @property
    def starter(self) -> str:
        """The module that the user starts from."""
        return (self.folder / "starter.py").read_text(encoding="utf-8")

    @property
    def solution(self) -> str:
        """The reference solution."""
        return (self.folder / "solution.py").read_text(encoding="utf-8")


@restore_by_slots
@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake in a content file. The message also says how to fix it.

    ``question`` is the id of the faulty question. ``missing`` is an id that it links to in vain.
    """

    file: str
    line: int
    message: str
    question: str = ""
    missing: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Bank:
    """All valid questions and exercises, and the faults of those that were left out.

    ``aliases`` maps old ids to current ones. ``paths`` maps each track to question ids, in order. ``retired``
    maps the ids of withdrawn questions to the question that covers them now, or to "".
    """

    questions: Mapping[str, Question]
    topics: Mapping[str, Topic]
    exercises: Mapping[str, Exercise]
    aliases: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    retired: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, question_id: str) -> str:
        """The current id of a question, following aliases; an unknown id is returned as it is."""
        return self.aliases.get(question_id, question_id)
