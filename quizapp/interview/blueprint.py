"""The roles, phases and time budgets of mock interviews, read from YAML."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizapp import paths
from quizapp.errors import QuizError, UnknownName

PHASES = ("brief", "warm-up", "concept", "scenario", "coding", "wrap")
SLOTS = ("easy", "medium", "hard", "scenario", "coding")
PHASE_OF = {
    "easy": "warm-up",
    "medium": "concept",
    "hard": "concept",
    "scenario": "scenario",
    "coding": "coding",
}
CUT_SHARE = 1.5
"""A question is cut at this multiple of its budget."""
LENGTHS = (15, 30, 45, 60)
_EXTRA_MEDIUM_S = 150
_EXTRA_SCENARIO_S = 300


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

    def another(self, role: str, minutes: int) -> tuple[str, str]:
        """The next sitting that the report recommends, and the command that starts it."""
        if not self.has_total:
            return "Diagnose another broken run", "quizapp incident"
        return "Sit another interview in some days", f"quizapp mock --role {role} --minutes {minutes}"


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

    ``phases`` maps a length in minutes to seconds by phase. ``nominal`` holds the seconds for a question by
    slot. ``follow_up_share`` is the fraction of a question's time that is kept for its follow-ups.
    """

    phases: Mapping[int, Mapping[str, int]]
    titles: Mapping[str, str]
    nominal: Mapping[str, int]
    follow_up_share: Mapping[str, float]
    follow_ups: Mapping[str, int]
    beats: Mapping[str, tuple[Beat, ...]]


@dataclass(frozen=True, slots=True)
class Role:
    """The job that an interview is for.

    ``mix`` maps a length in minutes to the number of questions by slot. ``coding_pool`` holds exercise slugs
    and ``scenario_pool`` incident ids that suit the role. ``shift`` moves seconds between phases.
    """

    name: str
    title: str
    about: str
    pass_mark: int
    topic_weights: Mapping[str, int]
    coding_pool: tuple[str, ...]
    scenario_pool: tuple[str, ...]
    shift: Mapping[str, int]
    mix: Mapping[int, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class InterviewPlan:
    """The shape of one interview: seconds by phase, which sum to its length, and questions by slot."""

    role: Role
    minutes: int
    code: bool
    seconds: Mapping[str, int]
    counts: Mapping[str, int]

    def without_code(self) -> "InterviewPlan":
        """Return a plan of the same length whose coding time goes half each to concepts and scenarios.

        Both phases get more questions as the added time allows.
        """
        spare = self.seconds["coding"]
        if not self.code or not (spare or self.counts["coding"]):
            return InterviewPlan(self.role, self.minutes, False, self.seconds, {**self.counts, "coding": 0})
        to_scenario = spare // 2
        to_concept = spare - to_scenario
        seconds = dict(self.seconds)
        seconds["scenario"] += to_scenario
        seconds["concept"] += to_concept
        seconds["coding"] = 0
        counts = dict(self.counts)
        counts["scenario"] += to_scenario // _EXTRA_SCENARIO_S
        counts["medium"] += to_concept // _EXTRA_MEDIUM_S
        counts["coding"] = 0
        return InterviewPlan(self.role, self.minutes, False, seconds, counts)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """All roles with their common format. ``hash`` changes with any edit of the files."""

    format: Format
    roles: Mapping[str, Role]
    hash: str

    @property
    def incident_seconds(self) -> int:
        """The seconds for the answer to a single incident: the nominal time of a scenario."""
        return self.format.nominal["scenario"]

    def role(self, name: str) -> Role:
        """A role by name. Raises ``UnknownName``."""
        if name not in self.roles:
            raise UnknownName(f"There is no role {name!r}; choose one of {', '.join(self.roles)}.")
        return self.roles[name]

    def plan(self, role: str, minutes: int, *, code: bool = True) -> InterviewPlan:
        """The shape of an interview. Raises ``UnknownName`` for the role, ``QuizError`` for the length."""
        chosen = self.role(role)
        if minutes not in self.format.phases or minutes not in chosen.mix:
            lengths = ", ".join(map(str, self.format.phases))
            raise QuizError(f"A mock interview takes {lengths} minutes, not {minutes}.")
        seconds = dict(self.format.phases[minutes])
        # The shortest interview has the same phases for every role.
        if minutes >= 30:
            for phase, shift in chosen.shift.items():
                seconds[phase] += shift
        plan = InterviewPlan(chosen, minutes, True, seconds, dict(chosen.mix[minutes]))
        return plan if code else plan.without_code()


def split(total: int, weights: Sequence[float]) -> list[int]:
    """Split ``total`` into integers in proportion to ``weights`` by the largest-remainder method.

    The parts sum to ``total`` exactly.
    """
    whole = sum(weights)
    if not weights:
        return []
    exact = [total * weight / whole for weight in weights]
    parts = [int(part) for part in exact]
    order = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for index in order[: total - sum(parts)]:
        parts[index] += 1
    return parts


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
            role = _role(data, shape)
            roles[role.name] = role
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise QuizError(f"{folder / name}: {type(error).__name__}: {error}; compare another file.") from error
    return Blueprint(shape, roles, digest)


def _format(data: Mapping[str, Any]) -> Format:
    phases = {}
    for minutes, row in data["phases"].items():
        seconds = {phase: round(60 * row[phase]) for phase in PHASES}
        if sum(seconds.values()) != 60 * minutes:
            raise ValueError(f"the phases of {minutes} minutes sum to {sum(seconds.values()) / 60:g}")
        phases[int(minutes)] = seconds
    beats = {
        kind: tuple(Beat(beat["name"], beat["check"]) for beat in rows)
        for kind, rows in data["beats"].items()
    }
    return Format(
        phases,
        {phase: str(data["titles"][phase]) for phase in PHASES},
        {slot: int(data["nominal_seconds"][slot]) for slot in SLOTS},
        {slot: float(share) for slot, share in data["follow_up_share"].items()},
        {slot: int(number) for slot, number in data["follow_ups"].items()},
        beats,
    )


def _role(data: Mapping[str, Any], shape: Format) -> Role:
    shift = {phase: round(60 * minutes) for phase, minutes in data["shift_minutes"].items()}
    if sum(shift.values()) or not set(shift) <= set(PHASES):
        raise ValueError("shift_minutes must name phases and sum to 0")
    mix = {int(minutes): {slot: int(row[slot]) for slot in SLOTS} for minutes, row in data["mix"].items()}
    if set(mix) != set(shape.phases):
        raise ValueError(f"mix needs the lengths {', '.join(map(str, shape.phases))}")
    return Role(
        str(data["role"]),
        str(data["title"]),
        str(data["about"]),
        int(data["pass_mark"]),
        {str(topic): int(weight) for topic, weight in data["topic_weights"].items()},
        tuple(data["coding_pool"]),
        tuple(data.get("scenario_pool", ())),
        shift,
        mix,
    )
