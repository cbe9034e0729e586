"""Hostile submissions: none passes, none harms, and the judge goes on."""

import re
from dataclasses import dataclass, field

import pytest

from quizapp.judge.verdict import Verdict
from tests.judge.field import DATA, SECRET, Field, control_characters, texts
from tests.judge.hostile import ALL, Hostile

pytestmark = pytest.mark.exhaustive

NAMES = [f"{hostile.kind}/{hostile.name}" for hostile in ALL]
# A spawned worker costs seconds of processor time: at T0 some of each kind.
AT_T0 = {
    *("endless/loop_on_import", "endless/sleep_in_call", "signals/ignores_all", "crash/segfault"),
    *("crash/exits", "processes/daemon", "descriptors/closes_all", "output/escapes"),
    *("forgery/transcript", "patching/allclose", "lies/subclass"),
}


@dataclass
class Aftermath:
    """What all hostile submissions together led to on one field."""

    verdicts: dict[str, Verdict]
    left_running: list[str]
    changed: list[str]
    connections: list[str] = field(default_factory=list)
    judge_changed: bool = False


def chosen(tier: str) -> list[Hostile]:
    unguarded = {"files/changes_exercise", "files/removes_exercise"} if tier in ("T0", "T1") else set()
    named = zip(ALL, NAMES, strict=True)
    return [h for h, name in named if name not in unguarded and (tier != "T0" or name in AT_T0)]


_done: dict[str, Aftermath] = {}


@pytest.fixture
def aftermath(field: Field) -> Aftermath:
    """All of them graded on one field, once."""
    if field.tier not in _done:
        judge = field.client.pid
        orders = [(f"{h.kind}/{h.name}", field.fill(h.source), h.seconds) for h in chosen(field.tier)]
        verdicts = field.grade_all(orders)
        _done[field.tier] = Aftermath(
            verdicts, field.left_running(), field.changed(), field.connections, field.client.pid != judge
        )
        field.restore()
    return _done[field.tier]


def test_nothing_hostile_passes(aftermath: Aftermath) -> None:
    right = {f"{h.kind}/{h.name}" for h in ALL if "passed" in h.statuses}  # but leaves something behind
    passed = {name for name, verdict in aftermath.verdicts.items() if verdict.passed}
    assert passed - right == set()


def test_each_kind_gets_its_status(aftermath: Aftermath, field: Field) -> None:
    wrong = {
        f"{h.kind}/{h.name}": (found.status, found.error)
        for h in chosen(field.tier)
        if (found := aftermath.verdicts[f"{h.kind}/{h.name}"]).status not in h.statuses
    }
    assert wrong == {}


# Code that blocks signals, or makes Python forget how to answer them, hides its line; below T2 it may also
# ignore the one that asks for it. What a submission hands back is copied outside of its lines.
NO_LINE = {"signals/blocks_all", "signals/faulthandler_off", "signals/kills_itself"}
NO_LINE |= {"files/fills_scratch"}  # waits in the kernel for the disk
NO_LINE |= {"memory/expanded_result", "memory/many_results", "memory/nested_result", "memory/cyclic_result"}
NO_LINE |= {"poison/evidence_of_huge_keys"}


def test_time_outs_and_memory_name_the_line(aftermath: Aftermath, field: Field) -> None:
    silent = {
        name: verdict.error
        for name, verdict in aftermath.verdicts.items()
        if verdict.status in ("timeout", "memory")
        and name not in NO_LINE
        and not re.search(r"at line \d+ of blend\.py", verdict.error or "")
    }
    unguarded = {"signals/ignores_all", "processes/fork_bomb"} if field.tier in ("T0", "T1") else set()
    assert set(silent) <= unguarded, silent


def test_nothing_is_left_running(aftermath: Aftermath) -> None:
    assert aftermath.left_running == []


def test_verdicts_hold_no_control_characters(aftermath: Aftermath) -> None:
    assert {n: c for n, v in aftermath.verdicts.items() if (c := control_characters(v))} == {}


def test_the_judge_lives_on_and_judges_right(aftermath: Aftermath, field: Field) -> None:
    assert not aftermath.judge_changed
    assert field.grade((DATA / "blend" / "solution.py").read_bytes()).passed
    wrong = field.grade(b"def blend(x, y, w):\n    return w * y + (1 - w) * x\n")
    assert wrong.status == "failed"
    assert "w is the share of x, not of y." in wrong.tests[0].message


def test_files_outside_stay_unread_and_unchanged(aftermath: Aftermath, field: Field) -> None:
    if field.tier in ("T0", "T1"):
        pytest.skip("T0 and T1 do not guard files")
    assert aftermath.changed == []
    assert [n for n, v in aftermath.verdicts.items() if any(SECRET in text for text in texts(v))] == []
    assert [n for n, v in aftermath.verdicts.items() if any("root:x:" in text for text in texts(v))] == []


def test_nothing_gets_out(aftermath: Aftermath, field: Field) -> None:
    if field.tier in ("T0", "T1"):
        pytest.skip("T0 and T1 do not guard the network")
    assert aftermath.connections == []
