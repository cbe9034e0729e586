"""Nothing passes a real exercise without doing its task."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from quizapp.judge import grade
from quizapp.judge.verdict import Verdict
from quizapp.paths import exercises
from tests.judge.attacks.shortcuts import ALL, Shortcut
from tests.judge.field import Field, exercise

pytestmark = pytest.mark.exhaustive

# Every so many of them, by tier. What T1 runs differs from T3 in what is guarded, not in what is recorded.
SAMPLE = {"T3": 2, "T2": 12, "T1": 12, "T0": 60}
PARTS = 8  # so that a busy machine keeps to the time limit of a test


def chosen(tier: str) -> list[Shortcut]:
    guarded = [s for s in ALL if tier in ("T3", "T2") or not s.needs_files]
    return guarded[:: SAMPLE[tier]]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_shortcut_passes(field: Field, part: int) -> None:
    def graded(shortcut: Shortcut) -> Verdict:
        folder = exercise(shortcut.exercise, exercises())
        return grade(folder, shortcut.source.encode(), device="cpu", tier=field.tier)

    shortcuts = chosen(field.tier)[part::PARTS]
    if not shortcuts:
        pytest.skip(f"{field.tier} takes fewer than {PARTS}")
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(graded, shortcuts))
    passed = [f"{s.exercise}/{s.name}" for s, v in zip(shortcuts, verdicts, strict=True) if v.passed]
    assert passed == []


def test_the_shortcuts_are_many_and_valid_python() -> None:
    assert len(ALL) >= 150
    assert len({shortcut.exercise for shortcut in ALL}) >= 25
    for shortcut in ALL:
        compile(shortcut.source, shortcut.name, "exec")
