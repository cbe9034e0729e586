"""The roles, rounds and nominal times of mock interviews, read from YAML."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quizapp import paths
from quizapp.errors import QuizError, UnknownName
from quizapp.interview import RoundName
from quizapp.interview.rounds.round_table import ROUNDS, InterviewRound, find_round
from quizapp.interview.rounds.time_rules import NominalTimes

SLOTS = ("easy", "medium", "hard", "scenario", "coding")
PHASE_OF = {
    "easy": "warm-up",
    "medium": "concept",
    "hard": "concept",
    "scenario": "scenario",
    "coding": "coding",
}
"""The phase of each slot of a mixed round."""
CUT_SHARE = 1.5
"""A question is cut at this multiple of its budget."""
LENGTHS = ROUNDS[RoundName.MIXED].lengths
_BRIEF_S, _SHORT_BRIEF_S = 60, 30
_LONG_MINUTES = 30  # from here on the brief is a whole minute
_SCENARIO_FROM_S = 900  # a spare coding phase of this length buys a scenario


INCIDENT_ROLE = "incident"
"""The role under which a single incident is stored. No blueprint has a role of this name."""


@dataclass(frozen=True, slots=True)
class InterviewForm:
    """The kind of a sitting: a mock interview or a single incident.

    Both are stored and marked in the same way and differ only in these fields. File names of reports begin
    with ``name``. Screens call the sitting by its ``noun``. ``has_total`` says whether the questions add up
    to a total with dimensions, a band and an interval, which later interviews are compared with.
    """

    name: str
    noun: str
    heading: str
    phrase: str
    has_total: bool

    def title(self, title: str, minutes: int) -> str:
        """The title of its report."""
        return f"{self.heading}: {self._details(title, minutes)}"

    def describe(self, title: str, minutes: int) -> str:
        """The sitting as a phrase inside a sentence."""
        return f"{self.phrase} ({self._details(title, minutes)})"

    def _details(self, title: str, minutes: int) -> str:
        return f"{title}, {minutes} minutes" if self.has_total else title

    def another(self, role: str, minutes: int, round_name: str) -> tuple[str, str]:
        """The next sitting that the report recommends, and the command that starts it."""
        if not self.has_total:
            return "Diagnose another broken run", "quizapp incident"
        same_round = f" --round {round_name}" if round_name not in ("", RoundName.MIXED) else ""
        command = f"quizapp mock{same_round} --role {role} --minutes {minutes}"
        return "Sit another interview in some days", command


MOCK = InterviewForm("mock", "interview", "Mock interview", "a mock interview", has_total=True)
SINGLE_INCIDENT = InterviewForm("incident", "run", "Incident", "a broken run", has_total=False)


def form_of(document: Mapping[str, Any]) -> InterviewForm:
    """The form of a stored interview, running or finished."""
    return form_of_role(document["role"])


def form_of_role(role: str) -> InterviewForm:
    """The form of the interviews that are stored under a role."""
    return SINGLE_INCIDENT if role == INCIDENT_ROLE else MOCK


@dataclass(frozen=True, slots=True)
class Beat:
    """A part of a well-built answer, and the sentence that a person checks it by."""

    name: str
    check: str


@dataclass(frozen=True, slots=True)
class Format:
    """The part of the blueprint that all roles share.

    ``titles`` maps phases to their titles. ``coding_minutes`` maps the length of a mixed round to what its
    coding task may take. ``mix`` maps a round and a length to the number of questions by slot.
    """

    titles: Mapping[str, str]
    times: NominalTimes
    coding_minutes: Mapping[int, int]
    mix: Mapping[str, Mapping[int, Mapping[str, int]]]
    beats: Mapping[str, tuple[Beat, ...]]


@dataclass(frozen=True, slots=True)
class Role:
    """The job that an interview is for.

    ``rounds`` are the rounds that it is interviewed in. ``mix`` maps the length of a mixed round to the
    number of questions by slot. ``coding_pool`` holds exercise slugs and ``scenario_pool`` incident ids that
    suit the role.
    """

    name: str
    title: str
    about: str
    pass_mark: int
    topic_weights: Mapping[str, int]
    coding_pool: tuple[str, ...]
    scenario_pool: tuple[str, ...]
    rounds: tuple[str, ...]
    mix: Mapping[int, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class InterviewPlan:
    """The shape of one interview before its questions are known.

    ``seconds`` by phase are nominal and sum to its length; the last is the reserve. ``counts`` are the
    questions by slot. ``coding_s`` is what a coding task may take.
    """

    role: Role
    round: InterviewRound
    minutes: int
    code: bool
    seconds: Mapping[str, int]
    counts: Mapping[str, int]
    times: NominalTimes
    coding_s: int = 0
    spoken: bool = False

    @property
    def follow_ups(self) -> bool:
        """Whether questions have follow-ups. A quiz has none."""
        return self.round.name != RoundName.QUIZ

    @property
    def brief_s(self) -> int:
        """The seconds before the first question. The phases of a design take the whole round."""
        if self.round.name == RoundName.DESIGN:
            return 0
        return _BRIEF_S if self.minutes >= _LONG_MINUTES else _SHORT_BRIEF_S

    @property
    def first_stage_only(self) -> bool:
        """Whether a coding task asks for one stage only."""
        return self.minutes <= _LONG_MINUTES

    def in_words(self, slot: str) -> bool:
        """Whether a question of the slot must be recall, which keeps three quarters of the time for it.

        In a mixed round only the warm-up has other kinds.
        """
        if self.round.name == RoundName.QUIZ:
            return False
        return self.round.name != RoundName.MIXED or slot != "easy"

    def phase_of(self, slot: str) -> str:
        """The phase in which a question of the slot is asked."""
        return "quiz" if self.round.name == RoundName.QUIZ else PHASE_OF[slot]

    def without_code(self) -> "InterviewPlan":
        """Return a plan of the same length whose coding time goes to scenarios and concepts."""
        counts = dict(self.counts)
        spare = self.seconds.get("coding", 0)
        if spare >= _SCENARIO_FROM_S:
            counts["scenario"] += 1
            spare -= self.times.other["scenario"]
        counts["medium"] += spare // self.times.recall["medium"]
        counts["coding"] = 0
        return replace(self, code=False).with_counts(counts)

    def with_counts(self, counts: Mapping[str, int]) -> "InterviewPlan":
        """Return the plan with other numbers of questions and the seconds that follow from them."""
        seconds = {"brief": self.brief_s}
        for slot in SLOTS:
            each = self.coding_s if slot == "coding" else self.times.seconds(slot, "recall")
            phase = self.phase_of(slot)
            seconds[phase] = seconds.get(phase, 0) + counts[slot] * each
        seconds["reserve"] = max(0, 60 * self.minutes - sum(seconds.values()))
        return replace(self, counts=counts, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """All roles with their common format. ``hash`` changes with any edit of the files."""

    format: Format
    roles: Mapping[str, Role]
    hash: str

    @property
    def incident_seconds(self) -> int:
        """The seconds for the answer to a single incident: the nominal time of a scenario."""
        return self.format.times.other["scenario"]

    def role(self, name: str) -> Role:
        """A role by name. Raises ``UnknownName``."""
        if name not in self.roles:
            raise UnknownName(f"There is no role {name!r}; choose one of {', '.join(self.roles)}.")
        return self.roles[name]

    def plan(
        self,
        role: str,
        minutes: int,
        *,
        code: bool = True,
        round_name: str = RoundName.MIXED,
        spoken: bool = False,
    ) -> InterviewPlan:
        """The shape of an interview. Raises ``UnknownName`` for role and round, ``QuizError`` otherwise."""
        chosen, kind = self.role(role), find_round(round_name)
        kind.check_minutes(minutes)
        kind.check_spoken(spoken=spoken)
        coding_s = 60 * self.format.coding_minutes.get(minutes, 0) if kind.has_code else 0
        plan = InterviewPlan(
            chosen, kind, minutes, bool(coding_s), {}, {}, self.format.times, coding_s, spoken
        ).with_counts(self._counts(chosen, kind, minutes))
        return plan if code or not plan.code else plan.without_code()

    def _counts(self, role: Role, kind: InterviewRound, minutes: int) -> Mapping[str, int]:
        if kind.name == RoundName.MIXED:
            return role.mix[minutes]
        counts = self.format.mix.get(kind.name, {}).get(minutes, {})
        return {slot: counts.get(slot, 0) for slot in SLOTS}


def load_blueprint(folder: Path | None = None) -> Blueprint:
    """Read the shipped interviews. Raises ``QuizError`` naming the file and what is wrong."""
    import yaml

    folder = folder or paths.content() / "interviews"
    # The C loader gives the same result many times faster, but not every build of PyYAML has it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents: dict[str, Any] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            documents[path.name] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise QuizError(f"{path}: cannot be read as YAML: {str(error).splitlines()[0]}.") from error
    if "format.yaml" not in documents:
        raise QuizError(f"{folder} holds no format.yaml: the interviews are not installed.")
    digest = hashlib.sha256(json.dumps(documents, sort_keys=True).encode()).hexdigest()[:16]
    name = "format.yaml"
    try:
        shape = _format(documents.pop(name))
        roles = {}
        for name, data in documents.items():  # noqa: B007 - the name is for the error below
            role = _role(data)
            roles[role.name] = role
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise QuizError(f"{folder / name}: {type(error).__name__}: {error}; compare another file.") from error
    return Blueprint(shape, roles, digest)


def _format(data: Mapping[str, Any]) -> Format:
    beats = {
        kind: tuple(Beat(beat["name"], beat["check"]) for beat in rows)
        for kind, rows in data["beats"].items()
    }
    times = NominalTimes(
        _whole_numbers(data["recall_seconds"]),
        _whole_numbers(data["nominal_seconds"]),
        _whole_numbers(data["follow_ups"]),
        int(data["follow_up_seconds"]),
    )
    mix = {name: _mix(rows) for name, rows in data["mix"].items()}
    minutes = {int(length): int(value) for length, value in data["coding_minutes"].items()}
    return Format({str(k): str(v) for k, v in data["titles"].items()}, times, minutes, mix, beats)


def _whole_numbers(data: Mapping[str, Any]) -> dict[str, int]:
    return {str(name): int(number) for name, number in data.items()}


def _mix(data: Mapping[Any, Mapping[str, Any]]) -> dict[int, dict[str, int]]:
    return {int(minutes): _whole_numbers(row) for minutes, row in data.items()}


def _role(data: Mapping[str, Any]) -> Role:
    mix = _mix(data["mix"])
    if set(mix) != set(LENGTHS) or any(set(row) != set(SLOTS) for row in mix.values()):
        raise ValueError(f"mix needs {', '.join(SLOTS)} for the lengths {', '.join(map(str, LENGTHS))}")
    for name in data["rounds"]:
        find_round(name)
    return Role(
        str(data["role"]),
        str(data["title"]),
        str(data["about"]),
        int(data["pass_mark"]),
        _whole_numbers(data["topic_weights"]),
        tuple(data["coding_pool"]),
        tuple(data.get("scenario_pool", ())),
        tuple(data["rounds"]),
        mix,
    )
