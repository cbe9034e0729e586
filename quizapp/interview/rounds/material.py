"""What only interviews ask: open design questions, estimates, and probes on the learner's own project.

None of it is drilled. Each part that is asked and marked by itself is a ``Question`` of the bank's type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from quizapp.bank.model import Fault, Question

DESIGN_PHASES: Mapping[str, tuple[str, int]] = {
    "requirements": ("Requirements", 5),
    "arithmetic": ("Arithmetic", 10),
    "plan": ("Plan", 15),
    "failure-modes": ("Failure modes", 10),
    "metrics": ("Metrics", 5),
}
"""The phases of a design question, in order: title and minutes."""
PROJECT_TOPIC = "interview-craft"
"""The topic of questions about the learner's own project. Nothing of it is drilled."""
CARDS = ("design:", "napkin:", "project:", "debug:")
"""What the cards of this material begin with. They are not scheduled."""
QUANTITIES = ("memory", "FLOPs", "time", "cost", "bandwidth")
"""What an estimate may be about. A napkin round asks for one of each."""


@dataclass(frozen=True, slots=True)
class DesignQuestion:
    """An open question with a rubric for each phase.

    ``phases`` maps each name of ``DESIGN_PHASES``, in order, to a recall question: its key points are the
    rubric of the phase, and its answer is a strong answer to that phase alone.
    """

    id: str
    title: str
    topic: str
    prompt: str
    phases: Mapping[str, Question]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantity to estimate without options; ``about`` is one of ``QUANTITIES``.

    ``question`` is numeric. Its key points are the steps of the working.
    """

    title: str
    about: str
    question: Question


@dataclass(frozen=True, slots=True)
class ProjectSheet:
    """How a learner presents a project of their own, and what an interviewer then asks about any project.

    The key points of ``worksheet`` are the beats of the presentation, those of a probe what a good answer
    has. Nobody knows the words of the project beforehand, so most points have no terms.
    """

    worksheet: Question
    probes: tuple[Question, ...]


@dataclass(frozen=True)
class RoundMaterial:
    """Everything that the rounds ask besides questions of the bank, exercises and incidents.

    Entries with a fault are left out. ``project`` is None if its file is missing or faulty.
    """

    designs: Mapping[str, DesignQuestion] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    project: ProjectSheet | None = None
    faults: tuple[Fault, ...] = ()

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """Everything that is asked and marked by itself, by its card.

        A card is the id behind the round and a colon: ``design:…`` (one for each phase), ``napkin:…`` or
        ``project:…``.
        """
        asked = [("design", q) for design in self.designs.values() for q in design.phases.values()]
        asked += [("napkin", estimate.question) for estimate in self.estimates.values()]
        if self.project is not None:
            asked += [("project", q) for q in (self.project.worksheet, *self.project.probes)]
        return {f"{kind}:{question.id}": question for kind, question in asked}
