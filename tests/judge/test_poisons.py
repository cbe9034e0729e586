"""No submission changes the verdict of the next one on the same warm judge, whatever it leaves behind."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from quizapp.judge import grade
from quizapp.judge.verdict import Verdict
from tests.judge.attacks import poisons
from tests.judge.field import DATA, Field, exercise
from tests.judge.hostile import ALL, Hostile

POISONS = [hostile for hostile in ALL if hostile.kind == poisons.KIND]
# The others are graded in `make test-all`; a spawned worker costs seconds, so T0 gets no more than these.
FEW = {"removes_scratch", "process_state", "torch_state", "stopped_child"}
WRONG = b"def blend(x, y, w):\n    return w * y + (1 - w) * x\n"
KILLS_ITS_PARENT = b"import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(100)\n"


def told(verdict: Verdict) -> tuple[object, ...]:
    """What a verdict says, without times."""
    tests = [(test.name, test.passed, test.message) for test in verdict.tests]
    return verdict.status, tests, verdict.error, verdict.printed, verdict.notes


def following(field: Field) -> list[tuple[object, ...]]:
    """What the judge says of right and wrong code for two exercises."""
    riddle = exercise("riddle")
    orders = [
        (field.exercise, (DATA / "blend" / "solution.py").read_bytes()),
        (field.exercise, WRONG),
        (riddle, (DATA / "riddle" / "solution.py").read_bytes()),
        (riddle, (DATA / "riddle" / "starter.py").read_bytes()),
    ]
    return [
        told(grade(task, source, device="cpu", seed=11, tier=field.tier, timeout=60))
        for task, source in orders
    ]


def changed_by(field: Field, hostiles: list[Hostile]) -> list[str]:
    """The names of those after which the judge says something else, or is another one."""
    before, judge = following(field), field.client.pid
    assert [told[0] for told in before] == ["passed", "failed", "passed", "failed"]
    changed = []
    for hostile in hostiles:
        assert field.grade(field.fill(hostile.source), 60.0).status in hostile.statuses, hostile.name
        if following(field) != before or field.client.pid != judge:
            changed.append(hostile.name)
    return changed


def test_the_next_verdict_is_the_same(field: Field) -> None:
    assert changed_by(field, [hostile for hostile in POISONS if hostile.name in FEW]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(4))
def test_no_poison_changes_the_next_verdict(field: Field, part: int) -> None:
    if field.tier == "T0":
        pytest.skip("a spawned worker is new for each run")
    assert changed_by(field, [hostile for hostile in POISONS if hostile.name not in FEW][part::4]) == []


def test_only_the_grade_that_kills_the_zygote_is_blamed_for_it(field: Field) -> None:
    if field.tier != "T1":
        pytest.skip("only at T1 a submission may kill the process that forks workers")
    right = (DATA / "blend" / "solution.py").read_bytes()
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda source: field.grade(source, 60.0), [KILLS_ITS_PARENT, right] * 3))
    assert [verdict.status for verdict in verdicts] == ["error", "passed"] * 3
    assert "must not kill its parent" in (verdicts[0].error or "")
