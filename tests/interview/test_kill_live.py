"""The app is killed in a live incident with a real judge: nothing said to be kept is lost, nothing stays."""

import sys
from pathlib import Path

import pytest

from tests.interview.killing_live import SLACK_MS, kill_live

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]


def test_a_killed_sitting_goes_on_where_it_was(tmp_path: Path) -> None:
    """Typing, then a run, then the measurement; each child resumes what the last one left."""
    for moment, wait in (("typing", 0.7), ("running", 0.3), ("measuring", 0.5)):
        killed = kill_live(tmp_path, moment, wait)
        assert killed.missing == []
        assert killed.left == []
        assert killed.lost <= 2
        assert killed.clock_ms <= SLACK_MS
    assert killed.ended
