"""Makes the task of a live incident from its content, and the order for each of its runs."""

from quizapp import paths
from quizapp.incidents.live.live_program import LiveProgram, changed_nodes
from quizapp.incidents.live.live_work import LiveTask, RunCommand
from quizapp.incidents.model import CONTROL, Incident, IncidentLibrary
from quizapp.judge.protocol.scripts import ScriptOrder


def make_task(incident: Incident, library: IncidentLibrary) -> LiveTask:
    """The program of an incident as asked. A whole run costs what the reading of a control run costs.

    Raises `QuizError` if the incident has no live form.
    """
    program = LiveProgram(incident)
    baseline = program.baseline
    repairs = [program.healthy, *program.rights]
    return LiveTask(
        name=incident.name,
        baseline=baseline.name,
        title=baseline.title,
        brief=baseline.brief,
        broken=program.broken,
        healthy=program.healthy,
        seed=program.form.seed,
        steps=program.steps,
        minimal_steps=program.form.minimal_steps,
        price=library.readings[CONTROL].seconds,
        limit=baseline.seconds,
        repair_nodes=max(changed_nodes(program.broken, repair) for repair in repairs),
        symptom=program.form.symptom,
        band={name: (low, high) for name, (low, high) in program.band.items()},
        fields=baseline.fields,
        options=dict(program.form.measure),
        ranks=baseline.ranks,
        resume=program.form.resume,
    )


def script_order(task: LiveTask, source: str, command: RunCommand, *, measured: bool) -> ScriptOrder:
    """The order to run a version of the task's script."""
    return ScriptOrder(
        folder=(paths.content() / "incidents" / task.baseline).absolute(),
        source=source,
        seed=command.seed,
        steps=command.steps,
        resume=task.resume,
        options=task.options,
        measured=measured,
        seconds=float(task.limit),
        ranks=task.ranks,
    )
