"""Exercises that users wrote when probes and checks had other module names are graded as before."""

import pytest

from quizapp.judge import grade
from tests.judge.field import DATA, exercise

RIGHT = (DATA / "old-style" / "solution.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("replaced", "by", "failing"),
    [
        ("", "", {}),
        ("total / dist.get_world_size()", "total", {"average": "The mean over the ranks is wrong."}),
        (
            "    dist.all_reduce(total)\n",
            "    if dist.get_rank() == 0:\n        dist.all_reduce(total)\n",
            {"average": "the ranks are out of step"},
        ),
        ("return layer(x)", "return layer(x) + 1", {"layer": "The output is wrong."}),
    ],
)
def test_an_exercise_in_the_old_style(replaced: str, by: str, failing: dict[str, str]) -> None:
    source = RIGHT.replace(replaced, by) if replaced else RIGHT
    verdict = grade(exercise("old-style"), source.encode(), device="cpu", timeout=60.0)
    assert verdict.error is None
    messages = {test.name: test.message for test in verdict.tests if not test.passed}
    assert messages.keys() == failing.keys()
    for name, part in failing.items():
        assert part in messages[name]
