"""No two grades ask an exercise the same: the inputs of its probes follow from the seed."""

from pathlib import Path

import pytest

from quizapp.judge.server.exercise_files import load_exercise_code
from quizapp.judge.testing.draw import Draw
from quizapp.judge.worker.transcript import encode

EXERCISES = Path(__file__).parents[2] / "exercises"


@pytest.mark.judge
@pytest.mark.parametrize("slug", sorted(path.parent.name for path in EXERCISES.glob("*/probes.py")))
def test_every_seed_draws_other_inputs(slug: str) -> None:
    make_inputs = load_exercise_code(EXERCISES / slug).probes.inputs
    assert encode(make_inputs(Draw(1))) != encode(make_inputs(Draw(2)))
