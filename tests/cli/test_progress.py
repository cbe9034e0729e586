"""The line of progress: on a terminal only, wiped away, and never in the way of what is printed."""

import io

import pyte
import pytest

from quizapp.cli import progress
from quizapp.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What a terminal shows of it."""
        screen = pyte.Screen(80, 12)
        pyte.Stream(screen).feed(self.getvalue().replace("\n", "\r\n"))
        return [line.rstrip() for line in screen.display if line.strip()]


def shared(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """One terminal for both streams; set in the test, since pytest sets its own before each."""
    both = Terminal()
    monkeypatch.setattr("sys.stdout", both)
    monkeypatch.setattr("sys.stderr", both)
    return both


@pytest.mark.parametrize(("at", "shown"), [([0.0, 0.2, 0.4], False), ([0.0, 0.2, 0.9], True)])
def test_a_count_shows_once_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, at: list[float], shown: bool
) -> None:
    terminal = shared(monkeypatch)
    monkeypatch.setattr(progress.time, "monotonic", iter(at).__next__)
    with Progress("planning", unit="courses") as line:
        line.tick()
        line.tick()
        assert terminal.lines() == (["planning: 2 courses"] if shown else [])
    assert terminal.lines() == []


def test_nothing_goes_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    monkeypatch.setattr(progress.time, "monotonic", iter([0.0, 9.0]).__next__)
    with Progress("planning", unit="courses") as line:
        line.tick()
    assert pipe.getvalue() == ""


def test_a_bar_stands_below_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = shared(monkeypatch)
    with Progress("grading", 2) as bar:
        assert terminal.lines() == ["grading [........................] 0/2"]
        bar.write("passed   a.py")
        bar.tick()
        assert terminal.lines() == ["passed   a.py", "grading [############............] 1/2"]
        bar.write("failed   b.py")
        bar.tick()
    assert terminal.lines() == ["passed   a.py", "failed   b.py"]


def test_a_bar_estimates_the_rest_once_the_pace_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = shared(monkeypatch)
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress("grading", 20, estimate=True) as line:
        for _ in range(4):
            now[0] += 6.0
            line.tick()
        assert terminal.lines()[-1].endswith("4/20")
        now[0] += 6.0
        line.tick()
        assert terminal.lines()[-1].endswith("5/20, about 1 min left")
        now[0] -= 29.0
        line.tick()
        assert terminal.lines()[-1].endswith("6/20, about 2 s left")
