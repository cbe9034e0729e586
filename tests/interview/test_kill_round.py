"""A round that is killed while it is sat and while it is marked: nothing acknowledged is lost."""

import sys
from pathlib import Path

import pytest

from tests.interview.killing import kill_round

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]


@pytest.mark.parametrize(
    "name",
    [
        "review",
        *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("concepts", "napkin", "loop")),
    ],
)
def test_a_killed_round_keeps_everything_that_was_acknowledged(name: str, tmp_path: Path) -> None:
    for wait in (0.2, 1.4):
        killed = kill_round(tmp_path, name, wait)
        assert killed.missing == []
        assert killed.lost <= 2
        if killed.over:
            break
