"""A live incident as asked, and the learner's work on it, as an interview stores both.

Everything that a resume needs is in these documents. The script on disk is a copy for the learner's editor.
"""

from enum import StrEnum
from typing import Any

import msgspec

from quizapp.incidents.live.baseline import LogField
from quizapp.incidents.live.run_log import read_rows, shows
from quizapp.incidents.model import LiveSymptom

LIVE_S = 1800
"""The nominal seconds of a live incident that is sat by itself."""
LEAST_PRICE_S = 3
"""What even the shortest run costs."""
KEPT_LOGS = 8
"""How many of the newest runs keep their log; the whole document is written every second."""
LOG_BYTES = 8_000
NOT_MEASURED = "The judge has not run it."
STOPPED = "canceled"
"""The outcome of a run that the learner stopped, as the judge names it."""
REPLAYS = 3
"""How often the stated command is run on the broken script."""


class LiveMode(StrEnum):
    """How a live incident is sat: on the clock, or as practice, where nothing costs time or counts."""

    CLOCK = "clock"
    PRACTICE = "practice"


class LiveTask(msgspec.Struct, frozen=True):
    """The program of a live incident as asked. ``name`` is the incident's, which does not give it away.

    ``broken`` is the script that the learner gets, ``healthy`` the same without the fault. ``seed`` and
    ``steps`` are those of the broken run whose log is shown, ``price`` is what a run of all steps costs in
    seconds of the clock, ``limit`` what it may really take, and ``repair_nodes`` how many syntax-tree nodes
    the reference repair changes. ``band`` maps each metric to the lowest and highest value of a healthy run.
    ``options`` go to the measurement. With ``resume`` every run is stopped halfway and continued.
    """

    name: str
    baseline: str
    title: str
    brief: str
    broken: str
    healthy: str
    seed: int
    steps: int
    minimal_steps: int
    price: int
    limit: int
    repair_nodes: int
    symptom: LiveSymptom
    band: dict[str, tuple[float, float]]
    fields: tuple[LogField, ...] = ()
    options: dict[str, Any] = {}
    ranks: int = 1
    resume: bool = False

    def price_of(self, steps: int) -> int:
        """The seconds of the clock that a run of so many steps costs."""
        return max(LEAST_PRICE_S, -(-self.price * steps // self.steps))

    @property
    def timed(self) -> tuple[str, ...]:
        """The names of the fields that depend on the clock."""
        return tuple(field.name for field in self.fields if field.timed)

    @property
    def most_steps(self) -> int:
        """The steps of the longest run."""
        return 2 * self.steps

    def symptom_in(self, log: str) -> bool:
        """Whether a log shows the symptom."""
        return shows(self.symptom, read_rows(log))


class RunCommand(msgspec.Struct, frozen=True):
    """The arguments of a run."""

    steps: int
    seed: int

    @property
    def text(self) -> str:
        """The command as one would type it."""
        return f"run.py --steps {self.steps} --seed {self.seed}"


class LoggedRun(msgspec.Struct):
    """A run that the learner made; ``edited`` says whether the script had been changed by then.

    ``price`` is in seconds of the clock, ``seconds`` what the run took. ``text`` says how it ended.
    """

    at_ms: int
    steps: int
    seed: int
    price: int
    edited: bool
    outcome: str
    text: str = ""
    seconds: float = 0.0
    log: str = ""
    checkpoint_hash: str = ""

    @property
    def command(self) -> RunCommand:
        """What was run."""
        return RunCommand(self.steps, self.seed)

    @property
    def stopped(self) -> bool:
        """Whether the learner stopped it, so that it never came to its last step."""
        return self.outcome == STOPPED


class SeedCheck(msgspec.Struct):
    """The repaired script on one seed: whether every metric was in its band, and what was measured."""

    seed: int
    held: bool
    text: str
    metrics: dict[str, float] = {}


class HandIn(msgspec.Struct):
    """What the judge measured at the hand-in. Sentences say why something earned nothing.

    ``shown`` of ``replays`` runs of the stated command showed the symptom, ``same`` says that two of them
    agreed in log and checkpoint. ``nodes`` is the size of the repair in syntax-tree nodes, None if nothing
    was changed. ``guard_failed`` and ``guard_held`` are about the learner's assertion, on the broken and on
    the repaired script.
    """

    replays: int = 0
    shown: int = 0
    same: bool = False
    replay_text: str = ""
    checks: list[SeedCheck] = []
    fix_text: str = ""
    model_changed: bool = False
    nodes: int | None = None
    guard: list[str] = []
    guard_failed: bool = False
    guard_held: bool = False
    guard_text: str = ""

    @property
    def repaired(self) -> bool:
        """Whether the healthy band held on every seed."""
        return bool(self.checks) and all(check.held for check in self.checks)


class LiveWork(msgspec.Struct):
    """The learner's work on a live incident.

    ``source`` is the script as edited, empty as long as it is the broken one. ``committed_ms`` is when cause
    and place were committed. ``command`` is the stated reproduction. ``measured`` is None until the hand-in
    was measured. In ``practice`` nothing costs time.
    """

    source: str = ""
    committed_ms: int | None = None
    command: RunCommand | None = None
    broken_run: LoggedRun | None = None
    runs: list[LoggedRun] = []
    measured: HandIn | None = None
    practice: bool = False

    @property
    def committed(self) -> bool:
        """Whether the script may be edited."""
        return self.committed_ms is not None

    def script(self, task: LiveTask) -> str:
        """The script as it stands."""
        return self.source or task.broken

    def edited(self, task: LiveTask) -> bool:
        """Whether the script differs from the broken one."""
        return self.script(task) != task.broken

    def edit(self, task: LiveTask, source: str) -> bool:
        """Replace the script; False, with nothing changed, before a cause is committed."""
        if not self.committed or not source.strip():
            return False
        self.source = "" if source == task.broken else source
        return True

    def redacted(self) -> "LiveWork":
        """A copy without the learner's code and without sentences that may quote it."""
        replace = msgspec.structs.replace
        measured = self.measured
        if measured is not None:
            checks = [replace(check, text="") for check in measured.checks]
            measured = replace(measured, checks=checks, guard=[], guard_text="", fix_text="")
        runs = [replace(run, text="", log="") for run in self.runs]
        return replace(self, source="", runs=runs, measured=measured)

    def add_run(self, run: LoggedRun) -> None:
        """Append a run and drop the logs that are too many."""
        self.runs.append(run)
        for old in self.runs[:-KEPT_LOGS]:
            old.log = ""

    def controlled(self, task: LiveTask) -> bool:
        """Whether the learner ran the script as it was on another seed, up to its last step."""
        as_it_was = [run for run in self.runs if run.log and not (run.edited or run.stopped)]
        return any(run.seed != task.seed and run.steps >= task.steps for run in as_it_was)


def trimmed_log(log: str) -> str:
    """A log for the document: its first and last lines if it is too long."""
    if len(log) <= LOG_BYTES:
        return log
    half = LOG_BYTES // 2
    head, tail = log[:half].rpartition("\n")[0], log[-half:].partition("\n")[2]
    return f"{head}\n…\n{tail}"


def unmeasured() -> HandIn:
    """What stands where the judge measured nothing."""
    return HandIn(replay_text=NOT_MEASURED, fix_text=NOT_MEASURED, guard_text=NOT_MEASURED)
