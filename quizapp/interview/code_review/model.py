"""The documents of a code review: the task, the learner's answer, and how it was marked."""

from enum import StrEnum

import msgspec

SCHEMA = "quizapp.code_review/1"


class Decision(StrEnum):
    """What a learner says about the code shown."""

    CORRECT = "correct"
    FAULTY = "faulty"


class ReviewFault(msgspec.Struct, frozen=True):
    """A mutant in the code shown.

    ``behaviours`` are the numbers that it breaks, ``why`` its consequence in a sentence. ``lines`` are the
    lines of the code shown that count as its place, from 1. ``alone`` is the program with this fault only.
    """

    mutant: str
    behaviours: tuple[int, ...]
    why: str
    lines: tuple[int, ...]
    alone: str


class CodeReview(msgspec.Struct, frozen=True, kw_only=True):
    """The task of one code review, complete enough to be resumed and marked without the exercise's files.

    ``program`` names the correct program that ``original`` is; ``shown`` is what the learner sees. Both are
    without docstrings. ``shown`` is correct if there are no ``faults``. ``minutes`` is the time allowed.
    """

    exercise: str
    title: str
    module: str
    seed: int
    program: str
    original: str
    shown: str
    faults: tuple[ReviewFault, ...]
    minutes: int

    @property
    def is_correct(self) -> bool:
        """Whether the code shown has no fault."""
        return not self.faults


class ReviewAnswer(msgspec.Struct, kw_only=True):
    """What a learner has answered so far.

    ``confidence`` is in percent and None until it was given. ``lines`` are the lines that the learner points
    at, from 1, and ``words`` say what goes wrong for a user of the code. ``check`` is the source of the
    learner's test and ``fixed`` the edited file. ``seconds`` is the time used.
    """

    decision: Decision | None = None
    confidence: int | None = None
    lines: list[int] = []
    words: str = ""
    check: str = ""
    fixed: str = ""
    seconds: float = 0.0


class ConsequenceMark(msgspec.Struct):
    """How far the learner's words say what a fault does: 0, 0.5 or 1.

    ``sentence`` is the learner's sentence on which the proposal rests. ``by_learner`` is True if the learner
    decided otherwise than the program proposed.
    """

    mutant: str
    held: float = 0.0
    sentence: str = ""
    by_learner: bool = False


class ProofOutcome(msgspec.Struct):
    """What became of the learner's test.

    ``accepted`` means that it holds on every correct program and fails where it must. ``caught`` names the
    mutants that it catches; ``text`` says in a sentence why it was accepted or refused.
    """

    accepted: bool = False
    caught: list[str] = []
    text: str = ""


class FixOutcome(msgspec.Struct):
    """What the hidden tests say about the learner's fixed file.

    ``repaired`` names the mutants whose behaviors hold again. ``failing`` are the behaviors that do not hold,
    ``text`` says why there is no verdict.
    """

    passed: bool = False
    repaired: list[str] = []
    failing: list[int] = []
    text: str = ""


class JudgedReview(msgspec.Struct):
    """What the judge found out about an answer: its proof, its fix, and what it says about the code shown."""

    proof: ProofOutcome = msgspec.field(default_factory=ProofOutcome)
    fix: FixOutcome = msgspec.field(default_factory=FixOutcome)
    feedback: list[str] = []


class ReviewMarks(msgspec.Struct):
    """The marks of one code review, of 100 together."""

    decision: int = 0
    line: int = 0
    consequence: int = 0
    proof: int = 0
    fix: int = 0

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return self.decision + self.line + self.consequence + self.proof + self.fix


class ReviewResult(msgspec.Struct, kw_only=True):
    """A finished code review as it is stored.

    ``id`` is the same wherever the result is stored. ``feedback`` is what the judge says about the code
    shown, each sentence once.
    """

    schema: str = SCHEMA
    id: str = ""
    review: CodeReview
    answer: ReviewAnswer
    consequences: list[ConsequenceMark] = []
    proof: ProofOutcome = msgspec.field(default_factory=ProofOutcome)
    fix: FixOutcome = msgspec.field(default_factory=FixOutcome)
    feedback: list[str] = []
    marks: ReviewMarks = msgspec.field(default_factory=ReviewMarks)
