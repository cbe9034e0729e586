"""The task of a live incident shows the run that its text describes."""

import re
from pathlib import Path

import pytest

from quizapp.incidents.live.make_task import make_task
from quizapp.incidents.loader import parse_library
from quizapp.incidents.model import Incident

LIBRARY = parse_library(Path(__file__).parents[2] / "content" / "incidents")
LIVE = [incident for incident in LIBRARY.incidents.values() if incident.live]


@pytest.mark.parametrize("incident", LIVE, ids=lambda incident: incident.id)
def test_the_broken_run_has_the_seed_that_the_setup_names(incident: Incident) -> None:
    named = re.search(r"\bseed\s+(\d+)", incident.setup)
    assert named is not None
    assert make_task(incident, LIBRARY).seed == int(named[1])
