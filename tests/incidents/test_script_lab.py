"""The laboratory for scripts runs a program, keeps what it left, and compares it with the healthy one."""

import pytest

from quizapp.judge.authoring.mutants import MutantEdit
from tools.incident_lab import measure
from tools.incident_lab.scripts import curves, ddp_trace
from tools.incident_lab.scripts.pair import ScriptLab, ScriptPair, scale_constant, set_constants
from tools.incident_lab.scripts.program import parse_line, run_script
from tools.incident_lab.scripts.ranks import RankProbe, RankRun, Span

SCRIPT = """\
import argparse
import torch

RATE = 0.5
BATCHES = 2

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    loss = 1.0 + options.seed / 1000
    for step in range(options.steps):
        loss *= 1 - RATE / BATCHES
        print(f"step {step}  loss {loss:.6g}  norm {loss:.6g}  rate {RATE}", flush=True)
        torch.save({"model": {"w": torch.tensor([loss])}, "step": step + 1, "report": {}}, "checkpoint.pt")
"""
LAB = ScriptLab(
    {}, one_batch_constants={"BATCHES": "1"}, one_batch=(MutantEdit("loss *= 1 -", "loss *= 1.0 -"),)
)


def pair(broken: str) -> ScriptPair:
    return ScriptPair(broken, SCRIPT, LAB, seed=7)


def test_a_run_leaves_its_log_its_checkpoint_and_its_definitions() -> None:
    record = run_script(SCRIPT, 3, steps=2)
    assert record.error == ""
    assert record.column("loss") == pytest.approx([1.003 * 0.75, 1.003 * 0.5625], rel=1e-5)
    assert record.checkpoint["step"] == 2
    assert record.namespace["RATE"] == 0.5


def test_a_script_that_fails_is_recorded_with_its_error() -> None:
    record = run_script(SCRIPT.replace("torch.save", "print(1 / 0) or torch.save"), 3)
    assert record.error == "ZeroDivisionError: division by zero"
    assert len(record.rows) == 1
    assert record.checkpoint == {}


def test_a_log_line_is_read_by_its_fields() -> None:
    assert parse_line("step 12  loss 1.5  norm 2e-3  kind warm") == {"step": 12, "loss": 1.5, "norm": 0.002}


def test_readings_compare_the_run_with_the_healthy_one_and_with_its_reruns() -> None:
    slow = pair(SCRIPT.replace("RATE = 0.5", "RATE = 0.00001"))
    assert curves.loss_curve(slow)[0] == "flat"
    assert curves.learning_rate(slow)[0] == "down"
    assert curves.control_run(slow)[0] == "flat"
    assert curves.loss_curve(pair(SCRIPT))[0] == "down"
    assert "largest learning rate 0.0500" in curves.lr_div_10(pair(SCRIPT))[1]
    assert curves.one_batch(pair(SCRIPT))[0] == "down"


def test_constants_are_set_by_name_and_a_missing_one_is_named() -> None:
    assert "RATE = 2" in set_constants(SCRIPT, {"RATE": "2"})
    assert "RATE = 0.05\n" in scale_constant(SCRIPT, "RATE", 0.1)
    with pytest.raises(ValueError, match="no constant LIMIT"):
        set_constants(SCRIPT, {"LIMIT": "1"})


def traced(fetch: float, exposed: float) -> RankRun:
    """Return a run of 20 steps of 100 ms of work, which wait for a batch and for sums."""
    spans, now = [], 0.0
    for _ in range(20):
        for name, seconds in (("data", fetch), ("forward", 0.04), ("backward", 0.06), ("wait", exposed)):
            spans.append(Span(name, "main", now, now + seconds))
            now += seconds
    return RankRun("", {}, "", (RankProbe(spans=spans), RankProbe(spans=spans)))


@pytest.mark.parametrize(
    ("fetch", "exposed", "outcome"),
    [(0.001, 0.01, "flat"), (0.15, 0.01, "data"), (0.001, 0.05, "comm"), (0.04, 0.05, "comm")],
)
def test_a_trace_tells_what_most_of_a_step_waits_for(
    monkeypatch: pytest.MonkeyPatch, fetch: float, exposed: float, outcome: str
) -> None:
    monkeypatch.setattr(ddp_trace, "run_ranks", lambda *_: traced(fetch, exposed))
    timed = pair(f"{ddp_trace.TIMED_BY} = 200.0\n{SCRIPT}")
    reading = ddp_trace.step_trace(timed)
    assert reading is not None
    assert reading[0] == outcome
    assert f"wait for the batch {1000 * fetch:.0f} ·" in reading[1]
    assert ddp_trace.rank_times(timed) == (
        "flat",
        "forward and backward, median step: rank 0 100 ms, rank 1 100 ms",
    )


def test_a_script_without_times_has_no_trace() -> None:
    assert ddp_trace.step_trace(pair(SCRIPT)) is None


def test_of_what_the_clock_shows_only_the_outcome_is_compared() -> None:
    stored = {"readings": {"step-times": {"outcome": "up", "shows": "median step: 300 ms"}}}
    assert measure.differences("slow", stored, {"step-times": ("up", "median step: 480 ms")}) == []
    assert measure.differences("slow", stored, {"step-times": ("flat", "median step: 300 ms")}) == [
        "slow: step-times is flat, the file says up"
    ]
