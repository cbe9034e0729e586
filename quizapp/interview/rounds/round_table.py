"""The rounds of an interview: how long each takes, and what happens in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from quizapp.errors import QuizError, UnknownName
from quizapp.interview import RoundName
from quizapp.util.installation import require_torch
from quizapp.util.suggest import did_you_mean

RULES = 2
"""The version of the rules by which a new interview is timed and scored. See ``ScoringRules``."""


@dataclass(frozen=True, slots=True)
class InterviewRound:
    """A kind of interview.

    ``lengths`` are the minutes that it may take. ``may_be_spoken`` says whether it can be sat without
    typing, ``has_code`` whether it can be sat with or without code. One that ``needs_judge`` always has code.
    """

    name: RoundName
    title: str
    lengths: tuple[int, ...]
    about: str
    may_be_spoken: bool = False
    has_code: bool = False
    needs_judge: bool = False

    def check_minutes(self, minutes: int) -> None:
        """Raise ``QuizError`` with the allowed lengths if the round does not take so long."""
        if minutes not in self.lengths:
            *others, last = map(str, self.lengths)
            lengths = f"{', '.join(others)} or {last}" if others else last
            raise QuizError(f"a {self.name} round takes {lengths} minutes, not {minutes}")

    def check_spoken(self, *, spoken: bool) -> None:
        """Raise ``QuizError`` if the answers shall be ``spoken`` in a round that must be typed."""
        if spoken and not self.may_be_spoken:
            others = " and ".join(row.name for row in ROUNDS.values() if row.may_be_spoken)
            raise QuizError(f"a {self.name} round cannot be spoken; {others} can")

    def check_judge(self, *, graded: bool = False) -> None:
        """Raise ``PartMissing`` without torch if code is ``graded`` in the round, as some always have."""
        if graded or self.needs_judge:
            hint = " (it can be left out)" if self.has_code else ""
            require_torch(f"The code{hint} in a {self.name} round")

    @property
    def default_minutes(self) -> int:
        """The length if none is named."""
        return 30 if 30 in self.lengths else self.lengths[0]


ROUNDS: Mapping[str, InterviewRound] = {
    row.name.value: row
    for row in (
        InterviewRound(
            RoundName.MIXED,
            "Mixed",
            (15, 30, 45, 60),
            "A warm-up, concepts, a coding task and a broken run; 15 minutes have warm-up and concepts only.",
            has_code=True,
        ),
        InterviewRound(
            RoundName.QUIZ, "Quiz", (20,), "Recall, numbers, orders and choices on one clock, no follow-ups."
        ),
        InterviewRound(
            RoundName.CONCEPTS,
            "Concepts",
            (30, 45),
            "Explain, in words only, and answer up to two follow-ups to each question.",
            may_be_spoken=True,
        ),
        InterviewRound(
            RoundName.CODING,
            "Coding",
            (45,),
            "One exercise in stages; a second one only if the first is complete early.",
            needs_judge=True,
        ),
        InterviewRound(
            RoundName.DEBUG,
            "Debug",
            (45,),
            "Code with faults, a broken run to repair live, or up to four to diagnose: the seed decides. Ten "
            "minutes of hypotheses in writing come first.",
        ),
        InterviewRound(
            RoundName.REVIEW,
            "Review",
            (30,),
            "Three code reviews: decide whether the code is correct, point at the fault, say what it does, "
            "prove it and fix it.",
            needs_judge=True,
        ),
        InterviewRound(
            RoundName.NAPKIN,
            "Napkin",
            (30,),
            "Five estimates without options; full marks within 10 %, half within a factor of 1.5.",
        ),
        InterviewRound(
            RoundName.DESIGN,
            "Design",
            (45,),
            "One open question: requirements, arithmetic, plan, failure modes, metrics.",
        ),
        InterviewRound(
            RoundName.PROJECT,
            "Project",
            (30,),
            "Present a project of your own, then answer what an interviewer asks about any project.",
            may_be_spoken=True,
        ),
    )
}
"""All rounds by name, in the order in which they are offered."""


def find_round(name: str) -> InterviewRound:
    """A round by name. Raises ``UnknownName``."""
    if name not in ROUNDS:
        hint = did_you_mean(name, ROUNDS, f"choose one of {', '.join(ROUNDS)}", most=1)
        raise UnknownName(f"there is no round '{name}'; {hint}")
    return ROUNDS[name]
