"""The transcript of a spoken round: a command of the learner's own, run and shown while marking."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp.errors import QuizError
from quizapp.interview.marking.spoken_transcript import read_transcript
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.interview.marking import MarkScreen
from tests.interview.mock_kit import begin, small_bank, study
from tests.tui.drawn import text
from tests.tui.waiting import until


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_the_output_of_the_command_is_the_transcript() -> None:
    assert read_transcript(python("print('the mean over the batch ✓')")) == "the mean over the batch ✓"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "set 'transcript' in the settings"),
        ("no-such-program-at-all x", "cannot be run"),
        ("say 'unfinished", "is not a command"),
        (python("import sys; sys.exit('no model')"), "exit code 1: no model"),
        (python("pass"), "wrote nothing"),
    ],
)
def test_a_command_that_does_not_work_is_a_sentence(command: str, says: str) -> None:
    with pytest.raises(QuizError, match=says):
        read_transcript(command)


async def test_the_marking_of_a_spoken_round_shows_it(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    made.settings = replace(made.settings, transcript=python("print('I said the mean')"))
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        interview, _ = begin(made, round_name="concepts", spoken=True, seed=1)
        interview.session.proceed()
        interview.session.submit()
        interview.session.end("early")
        interview.propose()
        await pilot.pause()
        app.push_screen(MarkScreen(interview))
        await pilot.pause()
        await pilot.press("t")
        await until(pilot, lambda: "I said the mean" in text(app))
