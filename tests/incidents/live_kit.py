"""A live incident without a judge: a tiny script, and a stand-in for the judge that reads it as text."""

from collections.abc import Callable
from dataclasses import replace

from quizapp.incidents.live.baseline import LogField
from quizapp.incidents.live.live_work import LiveTask, LiveWork, RunCommand
from quizapp.incidents.model import IncidentLibrary, LiveForm, LiveSymptom
from quizapp.judge.authoring.mutants import MutantEdit
from quizapp.judge.protocol.scripts import ScriptOutcome, ScriptRun

BROKEN = """\
RATE = 8.0
STEPS = 40


def train(seed):
    loss = 2.0
    for step in range(STEPS):
        loss = loss * RATE
        print(f"step {step}  loss {loss}", flush=True)


train(7)
"""
HEALTHY = BROKEN.replace("8.0", "0.1")
GUARD = "        assert loss < 3"
GUARDED = HEALTHY.replace("        print", f"{GUARD}\n        print")

TASK = LiveTask(
    name="a-run",
    baseline="mlp",
    title="A classifier",
    brief="It learns to tell ten classes apart.",
    broken=BROKEN,
    healthy=HEALTHY,
    seed=7,
    steps=40,
    minimal_steps=3,
    price=20,
    limit=60,
    repair_nodes=1,
    symptom=LiveSymptom("loss", above=100.0),
    band={"valid_loss": (0.0, 1.0)},
    fields=(LogField("loss", "Loss", curve=True),),
)


GOOD = {"valid_loss": 0.5, "test_loss": 0.05, "test_accuracy": 0.99, "reported_gap": 0.0}
BAD = dict.fromkeys(GOOD, 9.0)
FORM = LiveForm(
    baseline="mlp",
    edits=(MutantEdit("RATE = 0.1", "RATE = 8.0"),),
    decoys={},
    guard="assert loss < 3",
    guard_at="loss.backward()",
    symptom=LiveSymptom("loss", above=100.0),
    minimal_steps=3,
)


def live_library(library: IncidentLibrary, **changes: object) -> IncidentLibrary:
    """The library with a live form for each incident; one without a fault has no edits."""
    form = replace(FORM, **changes)  # type: ignore[arg-type]
    incidents = {
        name: replace(row, live=replace(form, edits=()) if row.false_alarm else form)
        for name, row in library.incidents.items()
    }
    return replace(library, incidents=incidents)


class StandIn:
    """Runs nothing: it judges a source by its rate, and keeps what it was asked for."""

    def __init__(self, change: Callable[[ScriptRun, int], ScriptRun] | None = None) -> None:
        self.calls: list[tuple[str, RunCommand, bool]] = []
        self._change = change or (lambda run, _: run)

    def __call__(self, source: str, command: RunCommand, measured: bool) -> ScriptRun:
        self.calls.append((source, command, measured))
        run = self._run(source, command, measured=measured)
        return self._change(run, len(self.calls))

    @staticmethod
    def _run(source: str, command: RunCommand, *, measured: bool) -> ScriptRun:
        rate = 0.1 if "RATE = 0.1" in source else 8.0
        rows = [f"step {step}  loss {2 * rate ** (step + 1)}" for step in range(command.steps)]
        if "assert False" in source or ("assert loss < 3" in source and rate > 1):
            text = "Line 8 fails: AssertionError"
            return ScriptRun(ScriptOutcome.FAILED, text, rows[0], 1.0, command.seed)
        metrics = dict(GOOD if rate < 1 else BAD) if measured else {}
        return ScriptRun(
            ScriptOutcome.ENDED, "", "\n".join(rows), 1.0, command.seed, command.steps, "abc", metrics
        )


def worked(source: str = "", command: RunCommand | None = None) -> LiveWork:
    """Work in which a cause was committed and the script edited."""
    work = LiveWork(committed_ms=1, command=command)
    if source:
        assert work.edit(TASK, source)
    return work
