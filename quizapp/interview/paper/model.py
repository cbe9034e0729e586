"""A paper: which questions an interview asks, in which order, with how much time each."""

from dataclasses import dataclass
from typing import Any

import msgspec

from quizapp.incidents.live.live_work import LiveMode
from quizapp.interview.blueprint import PHASE_OF, Beat, InterviewForm, InterviewPlan, form_of_role
from quizapp.util.text import plural


@dataclass(frozen=True, slots=True)
class PaperQuestion:
    """One question of the paper. Times are in seconds.

    ``phase`` is where it is asked; a mixed round's phase of the slot if none is given. ``stages`` are the
    stages that a coding task asks for. ``card`` is a question id, ``exercise:<slug>``, ``incident:<class>``
    or one of what only interviews ask; of an incident, ``incident`` is the id of the variant, and of
    hypotheses on broken runs, ``about`` are the ids of all of them. ``live`` says that an incident, or the
    one that hypotheses are about, is sat live. ``planned`` is the question's part of the phase, ``budget``
    the time for the answer itself, and ``follow_ups`` the time for each follow-up. Budget and follow-ups sum
    to ``planned``.
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
    follow_ups: tuple[int, ...] = ()
    incident: str = ""
    phase: str = ""
    stages: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    live: LiveMode | None = None

    def __post_init__(self) -> None:
        """Fill in the phase."""
        if not self.phase:
            object.__setattr__(self, "phase", PHASE_OF[self.slot])


@dataclass(frozen=True, slots=True)
class Paper:
    """The questions of an interview, in order. ``seconds`` by phase sum to its length.

    ``note`` is a sentence for the learner if there are fewer questions than the round has.
    """

    plan: InterviewPlan
    seed: int
    seconds: tuple[tuple[str, int], ...]
    picks: tuple[PaperQuestion, ...]
    note: str = ""


def shortage(number: int, wanted: int, what: str) -> str:
    """Say that a pool fills only a part of a round."""
    return (
        f"Only {number} of the {plural(wanted, what)} of this round can be asked now: the others were seen "
        "within 48 hours, are suspended, or do not exist. The time that is left is reserve."
    )


class InterviewHead(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The fixed facts of an interview. Its stored document begins with them.

    ``rules`` is the version of the rules by which it is scored. Documents of version 1 do not have the key,
    nor ``round`` and ``spoken``.
    ``beats`` holds the parts of a well-built answer by kind of question. ``blueprint`` and ``content_hash``
    are hashes of the files and questions that the paper was made from. ``loop`` is the id of the loop that it
    is a round of, and ``loop_rounds`` are all rounds of that loop; most interviews have neither.
    """

    schema: str
    id: str
    seed: int
    role: str
    title: str
    minutes: int
    code: bool
    pass_mark: int
    blueprint: str
    content_hash: str
    app: str
    torch: str
    device: str
    beats: dict[str, list[Beat]]
    started: str
    rules: int = 1
    round: str = ""
    spoken: bool = False
    loop: str = ""
    loop_rounds: list[str] = []

    @property
    def form(self) -> InterviewForm:
        """Whether it is a mock interview or a single incident."""
        return form_of_role(self.role)

    def as_json(self) -> dict[str, Any]:
        """Return the stored form."""
        stored: dict[str, Any] = msgspec.to_builtins(self)
        return stored
