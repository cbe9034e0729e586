"""The task of a live incident shows the run that its text describes."""

from dataclasses import replace
from pathlib import Path

from quizapp.incidents.live.make_task import make_task
from quizapp.incidents.loader import parse_library

LIBRARY = parse_library(Path(__file__).parents[2] / "content" / "incidents")


def test_the_broken_run_has_the_seed_that_the_setup_names() -> None:
    incident = LIBRARY.incidents["forgot-eval-dropout"]
    assert "float32, seed 2." in incident.setup
    assert make_task(incident, LIBRARY).seed == 2


def test_a_setup_without_a_seed_gets_the_usual_one() -> None:
    incident = replace(LIBRARY.incidents["forgot-eval-dropout"], setup="An MLP. A good seed was not noted.")
    assert make_task(incident, LIBRARY).seed == 7
