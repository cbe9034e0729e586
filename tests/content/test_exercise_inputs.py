"""What every exercise has: inputs that follow from the seed, and a starter that fits the editor."""

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


@pytest.mark.parametrize("path", sorted(EXERCISES.glob("*/starter.py")), ids=lambda path: path.parent.name)
def test_a_starter_fits_into_eighty_columns(path: Path) -> None:
    assert [line for line in path.read_text("utf-8").splitlines() if len(line) > 80] == []
