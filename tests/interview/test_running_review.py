"""A review in progress: its steps, its clock, and the file from which it is continued."""

import subprocess
import sys
from pathlib import Path

import pytest

from quizapp.errors import TakenOver
from quizapp.interview.code_review.model import CodeReview, Decision, ReviewFault, ReviewResult
from quizapp.interview.code_review.review_steps import ReviewStep
from quizapp.interview.code_review.running_review import RunningReview, load_running


class Seconds:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


REVIEW = CodeReview(
    exercise="lora",
    title="LoRA",
    module="lora.py",
    seed=1,
    program="solution",
    original="x = 0\n",
    shown="x = 1\n",
    faults=(ReviewFault("m", (1,), "It is wrong.", (1,), "x = 1\n"),),
    minutes=4,
)


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def running(tmp_path: Path, clock: Seconds) -> RunningReview:
    return RunningReview.begin(REVIEW, tmp_path / "review.json", clock)


def test_faulty_code_has_four_steps_and_correct_code_one(running: RunningReview) -> None:
    running.decide(Decision.CORRECT)
    assert running.step == ReviewStep.CONFIDENCE
    assert running.go(ReviewStep.DECIDE)
    running.decide(Decision.FAULTY)
    running.confide(75)
    assert running.step == ReviewStep.POINT
    assert running.at.next_step() == ReviewStep.SAY
    assert running.go(ReviewStep.FIX)
    assert running.at.next_step() is None
    assert running.at.missing() == ["a line", "the consequence", "a test", "a fix"]


def test_the_decision_is_final_once_the_confidence_is_given(running: RunningReview) -> None:
    running.decide(Decision.CORRECT)
    running.confide(50)
    assert running.step == ReviewStep.PROVE
    assert not running.go(ReviewStep.DECIDE)
    assert not running.go(ReviewStep.FIX)
    assert not running.can_discard


def test_time_counts_only_while_the_review_is_open(
    running: RunningReview, clock: Seconds, tmp_path: Path
) -> None:
    clock.now += 30
    assert running.tick() is False
    running.save()
    clock.now += 10_000
    again = load_running(tmp_path / "review.json", clock)
    assert again is not None
    assert again.tick() is False
    assert again.seconds_left == 210


def test_when_time_is_up_the_review_waits_to_be_judged(running: RunningReview, clock: Seconds) -> None:
    clock.now += 241
    assert running.tick() is True
    assert running.step == ReviewStep.JUDGE
    assert running.tick() is False


def test_what_was_not_touched_is_not_submitted(running: RunningReview) -> None:
    answer = running.at.submitted()
    assert (answer.check, answer.fixed) == ("", "")
    running.keep(check="def check(m):\n    assert m.x == 0\n", fixed="x = 0\n")
    assert running.at.submitted().fixed == "x = 0\n"
    assert running.at.test_problem() == ""


def test_everything_is_there_again_after_a_kill(tmp_path: Path) -> None:
    """The process is killed in the middle of the answer; what it had stored is continued."""
    path = tmp_path / "review.json"
    code = f"""
import os, signal, time
from pathlib import Path
from quizapp.interview.code_review.model import Decision
from quizapp.interview.code_review.running_review import RunningReview
from tests.interview.test_running_review import REVIEW
running = RunningReview.begin(REVIEW, Path({str(path)!r}), time.monotonic)
running.decide(Decision.FAULTY)
running.confide(100)
running.toggle_line(1)
running.keep(words="half a sen")
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == -9
    running = load_running(path, Seconds())
    assert running is not None
    answer = running.answer
    assert (answer.decision, answer.confidence, answer.lines, answer.words) == (
        "faulty",
        100,
        [1],
        "half a sen",
    )
    assert running.step == ReviewStep.POINT


def test_the_marks_survive_until_the_review_is_closed(
    running: RunningReview, clock: Seconds, tmp_path: Path
) -> None:
    path = tmp_path / "review.json"
    running.hand_in()
    running.judged(ReviewResult(review=REVIEW, answer=running.answer))
    again = load_running(path, clock)
    assert again is not None
    assert again.step == ReviewStep.REVEAL
    assert again.result is not None
    assert again.result.id
    again.close()
    assert load_running(path, clock) is None


def test_a_second_window_takes_the_review_over(
    running: RunningReview, clock: Seconds, tmp_path: Path
) -> None:
    other = load_running(tmp_path / "review.json", clock)
    assert other is not None
    with pytest.raises(TakenOver, match="goes on in another window"):
        running.keep(words="late")
    other.keep(words="mine")
    other.close()
    with pytest.raises(TakenOver, match="was finished in another window"):
        running.keep(words="late")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"id": 3}'])
def test_a_broken_file_counts_as_no_review(tmp_path: Path, clock: Seconds, content: bytes) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(content)
    assert load_running(path, clock) is None
