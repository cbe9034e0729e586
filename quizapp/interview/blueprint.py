"""What a mock interview is made of: roles, phases and budgets, read from YAML."""

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
"""The share of its budget at which a question is cut."""
LENGTHS = (15, 30, 45, 60)
_EXTRA_MEDIUM_S = 150
_EXTRA_SCENARIO_S = 300


INCIDENT_ROLE = "incident"
"""The role under which a single incident is stored. No blueprint has a role of this name."""


@dataclass(frozen=True, slots=True)
class InterviewForm:
    """What a learner sat down to: a mock interview or a single incident.

    Both are stored and marked in the same way. They differ only in what this type holds. ``name`` begins
    the file names of reports, ``noun`` is what screens call it. ``has_total`` says whether its questions
    add up to a total with dimensions, a band and an interval, which later interviews are compared with.
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
        """What the report recommends as the next sitting, and the command that starts it."""
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
    """A part of a well-built answer, and the sentence by which a person checks it."""

    name: str
    check: str


@dataclass(frozen=True, slots=True)
class Format:
    """What all roles share. ``phases`` maps a length in minutes to seconds by phase."""

    phases: Mapping[int, Mapping[str, int]]
    titles: Mapping[str, str]
    nominal: Mapping[str, int]
    follow_up_share: Mapping[str, float]
    follow_ups: Mapping[str, int]
    beats: Mapping[str, tuple[Beat, ...]]


@dataclass(frozen=True, slots=True)
class Role:
    """Whom the interview is for. ``mix`` maps a length to the number of items by slot.

    ``coding_pool`` holds exercise slugs, ``scenario_pool`` incident ids that suit the role.
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
    """One interview's shape: seconds by phase (they sum to the length) and items by slot."""

    role: Role
    minutes: int
    code: bool
    seconds: Mapping[str, int]
    counts: Mapping[str, int]

    def without_code(self) -> "InterviewPlan":
        """The same length with the coding time given to concepts and scenarios, and items for it."""
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
    """All roles over one format; ``hash`` changes with any of it."""

    format: Format
    roles: Mapping[str, Role]
    hash: str

    @property
    def incident_seconds(self) -> int:
        """What the answer to a single incident may take: the time of a scenario in the shortest interview."""
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
        if minutes >= 30:
            for phase, shift in chosen.shift.items():
                seconds[phase] += shift
        plan = InterviewPlan(chosen, minutes, True, seconds, dict(chosen.mix[minutes]))
        return plan if code else plan.without_code()


def split(total: int, weights: Sequence[float]) -> list[int]:
    """``total`` in whole parts in proportion to ``weights``; the parts sum to it exactly."""
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
