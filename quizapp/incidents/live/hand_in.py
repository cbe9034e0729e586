"""Measures what a learner hands in for a live incident: the reproduction, the repair, and the guard.

Nothing here runs a script; the caller does, in the judge's worker. What the script says about itself decides
nothing: the repair counts by what the judge measured on the checkpoint's tensors.
"""

import math
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from quizapp.incidents.live.guard import SplitScript, split_guard
from quizapp.incidents.live.live_program import changed_nodes
from quizapp.incidents.live.live_work import REPLAYS, HandIn, LiveTask, LiveWork, RunCommand, SeedCheck
from quizapp.incidents.live.run_log import same_rows

if TYPE_CHECKING:
    from quizapp.judge.protocol.scripts import ScriptRun

RunScript = Callable[[str, RunCommand, bool], "ScriptRun"]
"""Runs a source with a command; the last argument says whether the judge measures the checkpoint."""

_SEEDS = 1_000_000

NO_COMMAND = "No command was stated that reproduces the symptom."
UNCHANGED = "The script was handed in as it was, so nothing was repaired."
NO_GUARD = "No assertion was added to the script."
NOT_REPAIRED = "The guard counts only in a script that is repaired."
FALSE_GUARD = "A healthy run needs no guard that fails on it."


def unseen_seed(task: LiveTask, number: int) -> int:
    """The seed of a run that the learner cannot have made; ``number`` is that of the sitting."""
    return random.Random(f"{task.baseline}:{number}:hand-in").randrange(_SEEDS)  # noqa: S311 - stored


def checked_seeds(task: LiveTask, number: int) -> tuple[int, int, int]:
    """The seeds on which a repair must hold: that of the broken run, the next one, and an unseen one."""
    return task.seed, task.seed + 1, unseen_seed(task, number)


def count_runs(task: LiveTask, work: LiveWork, *, healthy: bool) -> int:
    """How many runs the measurement takes at most."""
    repairs = 3 if work.edited(task) or healthy else 0
    return (REPLAYS if work.command else 0) + repairs + (3 if work.edited(task) else 0)


def measure_hand_in(
    task: LiveTask,
    work: LiveWork,
    run: RunScript,
    *,
    number: int,
    healthy: bool,
) -> HandIn:
    """Measure the work as it stands. ``healthy`` says that the incident is a false alarm.

    ``number`` is the seed of the sitting.
    """
    result = HandIn()
    _replay(task, work, run, result)
    split = split_guard(task.broken, work.script(task))
    if split.repair.splitlines() != task.broken.splitlines():
        result.nodes = _nodes(task, split.repair)
    elif not healthy:
        result.fix_text, result.guard_text = UNCHANGED, NOT_REPAIRED if split.guard else NO_GUARD
        result.guard = list(split.guard)
        return result
    _check_repair(task, split, run, result, checked_seeds(task, number))
    result.guard = list(split.guard)
    if healthy:
        result.guard_text = FALSE_GUARD
    else:
        _check_guard(task, work, split, run, result, unseen_seed(task, number))
    return result


def _nodes(task: LiveTask, repair: str) -> int | None:
    """How many syntax-tree nodes the repair changes; None if it is not Python."""
    try:
        return changed_nodes(task.broken, repair)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _replay(task: LiveTask, work: LiveWork, run: RunScript, result: HandIn) -> None:
    """Run the stated command on the broken script."""
    if work.command is None:
        result.replay_text = NO_COMMAND
        return
    replays = [run(task.broken, work.command, False) for _ in range(REPLAYS)]
    result.replays = REPLAYS
    result.shown = sum(task.symptom_in(replay.log) for replay in replays)
    first, second = replays[:2]
    same_log = same_rows(first.log, second.log, task.timed) and bool(first.log.strip())
    result.same = same_log and first.checkpoint_hash == second.checkpoint_hash
    said = f"{work.command.text} showed the symptom in {result.shown} of {REPLAYS} replays"
    besides = ", apart from times" if task.timed else ""
    agreed = f"{'agree' if result.same else 'do not agree'} bit for bit{besides}"
    result.replay_text = f"{said}; two of them {agreed}."


def _check_repair(
    task: LiveTask, split: SplitScript, run: RunScript, result: HandIn, seeds: tuple[int, ...]
) -> None:
    for seed in seeds:
        script_run = run(split.repair, RunCommand(task.steps, seed), True)
        result.model_changed = bool(script_run.changed)
        result.checks.append(_check_seed(task, seed, script_run))
        if not result.checks[-1].held:
            # One seed outside the band settles it, and the other runs would only take time.
            result.fix_text = f"On seed {seed}: {result.checks[-1].text.rstrip('.')}."
            return
    result.fix_text = f"Healthy on the seeds {', '.join(map(str, seeds))}, as the judge measured."


def _check_seed(task: LiveTask, seed: int, script_run: "ScriptRun") -> SeedCheck:
    # JSON has no NaN and no infinity: a metric that is one of them is stored as if it was not measured.
    metrics = {name: value for name, value in script_run.metrics.items() if math.isfinite(value)}
    text = "healthy"
    if script_run.changed or not script_run.ended:
        text = script_run.changed or script_run.text
    elif (steps := script_run.steps or 0) != task.steps:
        # A longer run may end well without any repair.
        where = "before" if steps < task.steps else "past"
        text = f"the checkpoint is from step {steps}, {where} step {task.steps}"
    elif outside := script_run.outside(task.band):
        text = _outside_text(outside[0], script_run.metrics, task.band[outside[0]])
    return SeedCheck(seed, held=text == "healthy", text=text, metrics=metrics)


def _outside_text(name: str, metrics: Mapping[str, float], band: tuple[float, float]) -> str:
    if name not in metrics:
        return f"{name} could not be measured"
    return f"{name} is {metrics[name]:.4g}; healthy runs have {band[0]:g} to {band[1]:g}"


def _check_guard(
    task: LiveTask, work: LiveWork, split: SplitScript, run: RunScript, result: HandIn, seed: int
) -> None:
    if not split.guard:
        result.guard_text = NO_GUARD
        return
    if not result.repaired:
        result.guard_text = NOT_REPAIRED
        return
    command = RunCommand(task.steps, task.seed)
    # On the unseen seed a guard that knows the run's numbers fails, on the other one that asks for the seed.
    for held_on in (RunCommand(task.steps, seed), command):
        repaired = run(work.script(task), held_on, False)
        result.guard_held = repaired.ended
        if not repaired.ended:
            result.guard_text = f"The guard fails in the repaired script too: {repaired.text}"
            return
    broken = run(split.guarded, command, False)
    result.guard_failed = not broken.ended and "AssertionError" in broken.text
    if result.guard_failed:
        result.guard_text = "The guard fails in the broken script and holds in the repaired one."
    elif broken.ended:
        result.guard_text = "The guard holds in the broken script too, so it would not have caught the fault."
    else:
        result.guard_text = f"In the broken script something else fails than the guard: {broken.text}"
