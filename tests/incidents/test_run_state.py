"""Which parts of the state a replay must restore depends on the run, and the list to choose from varies."""

from pathlib import Path

import pytest

from quizapp.incidents.diagnosis import snapshot
from quizapp.incidents.loader import parse_library
from tools.incident_lab.catalogue import RUNS
from tools.incident_lab.run_state import restored_state

LIBRARY = parse_library(Path(__file__).parents[2] / "content" / "incidents")


@pytest.mark.parametrize("name", RUNS)
def test_an_incident_restores_what_its_run_has(name: str) -> None:
    assert list(LIBRARY.incidents[name].state) == restored_state(RUNS[name].case().setup)


def test_a_state_is_right_only_where_the_run_has_it() -> None:
    def right(name: str) -> set[str]:
        incident = LIBRARY.incidents[name]
        return {part.id for part in LIBRARY.states if incident.restores(part)}

    assert "scaler" in right("amp-raw-step")
    assert "scaler" not in right("amp-no-scaler") | right("double-softmax")
    assert "optimizer" not in right("clip-too-tight")  # plain SGD keeps nothing
    assert "rng" not in right("no-shuffle-sorted")
    assert "gradients" in right("missing-zero-grad")
    assert right("resume-noise-false-alarm") >= {"weights", "optimizer", "scheduler", "rng", "sampler"}


@pytest.mark.parametrize("name", ["double-softmax", "amp-raw-step", "clip-too-tight"])
def test_the_seed_varies_the_states_and_the_number_of_right_ones(name: str) -> None:
    incident = LIBRARY.incidents[name]
    lists = [snapshot(incident, LIBRARY, seed).states for seed in range(40)]

    assert lists[3] == snapshot(incident, LIBRARY, 3).states
    assert {len(states) for states in lists} == {8, 9, 10}
    right = {sum(state.right for state in states) for states in lists}
    assert len(right) > 1
    assert min(right) >= 2
    assert all(any(not state.right for state in states) for states in lists)
    assert len({frozenset(state.id for state in states) for states in lists}) > 30
