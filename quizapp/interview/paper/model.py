"""One item of a paper, and the paper."""

from dataclasses import dataclass

from quizapp.interview.blueprint import PHASE_OF, InterviewPlan


@dataclass(frozen=True, slots=True)
class PaperQuestion:
    """One item of the paper; times in seconds.

    ``card`` is a question id, ``exercise:<slug>`` or ``incident:<class>``, then ``incident`` is the variant.
    ``planned`` is its share of the phase, ``budget`` what the answer itself may take, and ``probes``
    the time of each follow-up question; budget and probes sum to ``planned``.
    """

    slot: str
    card: str
    exercise: str
    topic: str
    level: str
    kind: str
    recall: float | None
    unseen: bool
    seed: int
    planned: int = 0
    budget: int = 0
    probes: tuple[int, ...] = ()
    incident: str = ""

    @property
    def phase(self) -> str:
        """The phase in which it is asked."""
        return PHASE_OF[self.slot]


@dataclass(frozen=True, slots=True)
class Paper:
    """What is asked, in order. ``seconds`` by phase sum to the length."""

    plan: InterviewPlan
    seed: int
    seconds: tuple[tuple[str, int], ...]
    picks: tuple[PaperQuestion, ...]
