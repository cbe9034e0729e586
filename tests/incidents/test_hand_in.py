"""What is measured at the hand-in of a live incident, and the sentence for whatever earns nothing."""

from dataclasses import replace

import msgspec
import pytest

from quizapp.incidents.live import hand_in
from quizapp.incidents.live.baseline import LogField
from quizapp.incidents.live.hand_in import checked_seeds, measure_hand_in
from quizapp.incidents.live.live_work import (
    KEPT_LOGS,
    LOG_BYTES,
    HandIn,
    LiveTask,
    LiveWork,
    LoggedRun,
    RunCommand,
    trimmed_log,
)
from quizapp.judge.protocol.scripts import ScriptOutcome, ScriptRun
from tests.incidents.live_kit import BROKEN, GUARDED, HEALTHY, TASK, StandIn, worked

COMMAND = RunCommand(3, 7)


def measured(
    work: LiveWork, judge: StandIn | None = None, *, healthy: bool = False, task: LiveTask = TASK
) -> HandIn:
    return measure_hand_in(task, work, judge or StandIn(), number=5, healthy=healthy)


def test_a_repair_with_a_guard_and_a_command_is_measured_whole() -> None:
    judge = StandIn()
    result = measured(worked(GUARDED, COMMAND), judge)
    assert (result.shown, result.same, result.repaired) == (3, True, True)
    assert (result.nodes, result.guard_failed, result.guard_held) == (1, True, True)
    # The repair is measured without its guard, so that a guard too strict costs no more than itself.
    assert [(source, command.seed) for source, command, is_measured in judge.calls if is_measured] == [
        (HEALTHY, seed) for seed in checked_seeds(TASK, 5)
    ]
    assert msgspec.json.decode(msgspec.json.encode(result), type=HandIn) == result


def test_one_of_the_three_seeds_differs_by_sitting_and_is_not_shown_before() -> None:
    assert checked_seeds(TASK, 5) == checked_seeds(TASK, 5)
    assert len({checked_seeds(TASK, number)[2] for number in range(20)}) == 20


def test_a_script_handed_in_as_it_was_is_not_measured() -> None:
    judge = StandIn()
    result = measured(worked(command=COMMAND), judge)
    assert (result.checks, result.nodes, result.fix_text) == ([], None, hand_in.UNCHANGED)
    assert len(judge.calls) == 3


def test_a_healthy_run_left_alone_is_measured_as_it_is() -> None:
    task_run = StandIn(lambda run, _: replace(run, metrics={"valid_loss": 0.5}))
    result = measured(worked(), task_run, healthy=True)
    assert result.repaired
    assert result.replay_text == hand_in.NO_COMMAND


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metrics": {"valid_loss": float("nan")}}, "valid_loss is nan; healthy runs have 0 to 1"),
        ({"metrics": {}}, "valid_loss could not be measured"),
        ({"outcome": ScriptOutcome.TIMEOUT, "text": "It ran over 60 s."}, "It ran over 60 s"),
        ({"outcome": ScriptOutcome.NO_CHECKPOINT, "text": "It left no checkpoint."}, "It left no checkpoint"),
        ({"steps": 2}, "the checkpoint is from step 2, before step 40"),
        ({"steps": 160}, "the checkpoint is from step 160, past step 40"),
        ({"changed": "The model has 3 layers instead of 2."}, "The model has 3 layers instead of 2"),
    ],
)
def test_what_is_not_healthy_is_said_in_a_sentence(change: dict, said: str) -> None:
    result = measured(worked(HEALTHY), StandIn(lambda run, _: replace(run, **change)))
    assert not result.repaired
    assert result.fix_text == f"On seed 7: {said}."
    assert result.model_changed == ("changed" in change)
    assert len(result.checks) == 1
    assert msgspec.json.decode(msgspec.json.encode(result), type=HandIn) == result


def test_a_repair_that_fails_on_the_unseen_seed_alone_is_none() -> None:
    unseen = checked_seeds(TASK, 5)[2]
    judge = StandIn(lambda run, _: replace(run, metrics={"valid_loss": 9}) if run.seed == unseen else run)
    result = measured(worked(HEALTHY), judge)
    assert [check.held for check in result.checks] == [True, True, False]
    assert not result.repaired


@pytest.mark.parametrize(
    "change",
    [
        lambda run, number: replace(run, checkpoint_hash=str(number)),
        lambda run, number: replace(run, log=f"{run.log}\n{number}"),
        lambda run, _: replace(run, log=""),
    ],
)
def test_replays_that_differ_or_print_nothing_do_not_agree(change) -> None:
    result = measured(worked(command=COMMAND), StandIn(change))
    assert not result.same
    assert "do not agree" in result.replay_text


def test_replays_agree_if_only_measured_times_differ() -> None:
    judge = StandIn(lambda run, number: replace(run, log=f"step 0  loss 16  wait_ms {number}"))
    assert not measured(worked(command=COMMAND), judge).same
    task = msgspec.structs.replace(TASK, fields=(*TASK.fields, LogField("wait_ms", "Wait", timed=True)))
    result = measured(worked(command=COMMAND), judge, task=task)
    assert result.same
    assert "agree bit for bit, apart from times" in result.replay_text


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ("assert False", "The guard fails in the repaired script too"),
        ("assert loss > -1", "The guard holds in the broken script too"),
        ("pass", hand_in.NO_GUARD),
    ],
)
def test_a_guard_must_tell_the_two_scripts_apart(guard: str, said: str) -> None:
    result = measured(worked(GUARDED.replace("assert loss < 3", guard)))
    assert not (result.guard_failed and result.guard_held)
    assert result.guard_text.startswith(said)


def test_a_guard_that_asks_for_the_seed_of_the_broken_run_is_none() -> None:
    """It fails in the broken run and would hold on every other seed, whatever the script does."""
    judge = StandIn()

    def run(source: str, command: RunCommand, measured: bool) -> ScriptRun:
        if "assert seed" in source and command.seed == TASK.seed:
            return ScriptRun(ScriptOutcome.FAILED, "Line 8 fails: AssertionError", seed=command.seed)
        return judge(source, command, measured)

    work = worked(GUARDED.replace("assert loss < 3", "assert seed != 7"))
    result = measure_hand_in(TASK, work, run, number=1, healthy=False)
    assert result.repaired
    assert (result.guard_failed, result.guard_held) == (False, False)
    assert result.guard_text.startswith("The guard fails in the repaired script too")


@pytest.mark.parametrize(
    ("outcome", "counts"), [(ScriptOutcome.ENDED, True), (ScriptOutcome.CANCELED, False)]
)
def test_a_control_run_that_was_stopped_is_none(outcome: ScriptOutcome, counts: bool) -> None:
    work = LiveWork()
    work.add_run(
        LoggedRun(1, TASK.steps, TASK.seed + 1, 20, edited=False, outcome=outcome, log="step 0  loss 2")
    )
    assert work.controlled(TASK) is counts


def test_the_script_opens_with_the_commit_and_not_before() -> None:
    work = LiveWork()
    assert not work.edit(TASK, HEALTHY)
    assert work.script(TASK) == BROKEN
    work.committed_ms = 10
    assert work.edit(TASK, HEALTHY)
    assert work.script(TASK) == HEALTHY
    assert work.edit(TASK, BROKEN)
    assert not work.edited(TASK)


def test_a_short_run_costs_less_but_never_nothing() -> None:
    assert [TASK.price_of(steps) for steps in (1, 10, 20, 40, 80)] == [3, 5, 10, 20, 40]


def test_long_logs_keep_both_ends_and_old_runs_lose_theirs() -> None:
    log = "\n".join(f"step {step}  loss 1.0" for step in range(5000))
    short = trimmed_log(log)
    assert len(short) <= LOG_BYTES + 3
    assert (short.splitlines()[0], short.splitlines()[-1]) == (log.splitlines()[0], log.splitlines()[-1])
    work = LiveWork()
    for number in range(KEPT_LOGS + 2):
        work.add_run(LoggedRun(0, 40, number, 3, edited=False, outcome="ended", log="step 0  loss 1"))
    assert [bool(run.log) for run in work.runs] == [False] * 2 + [True] * KEPT_LOGS
