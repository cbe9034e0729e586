"""The lab breaks runs for real, and the stored figures and outcomes are those that it measures."""

import math
from pathlib import Path

import pytest
import yaml

from quizapp.incidents import measure
from quizapp.incidents.catalogue import RUNS
from quizapp.incidents.faults import FAULTS
from quizapp.incidents.lab import one_batch, train
from quizapp.incidents.load import load_library
from quizapp.incidents.readings import Case, outcomes
from quizapp.incidents.setups import BASELINE

FOLDER = Path(__file__).parents[2] / "content" / "incidents"


def test_the_baseline_is_healthy_and_repeats_to_the_last_digit() -> None:
    first, second = train(BASELINE), train(BASELINE)
    assert first.losses == second.losses
    assert first.losses[0] == pytest.approx(2.3, abs=0.05)
    assert first.end < 0.05
    assert first.valid_accuracy > 0.98


def test_twice_softmax_stops_at_its_formula() -> None:
    record = one_batch(FAULTS["double-softmax"].broken())
    assert 1.461 <= record.end < 1.51


def test_smoothed_targets_stop_at_their_entropy() -> None:
    right, wrong = 0.9 + 0.1 / 10, 0.1 / 10
    floor = -(right * math.log(right) + 9 * wrong * math.log(wrong))
    assert floor == pytest.approx(0.500, abs=0.001)
    assert floor <= one_batch(BASELINE.but(loss="smoothed")).end < floor + 0.005


def test_gradients_that_are_not_cleared_add_up() -> None:
    sound, broken = train(BASELINE), train(FAULTS["missing-zero-grad"].broken())
    assert broken.norms[0] == sound.norms[0]
    assert broken.norms[1] == pytest.approx(2 * sound.norms[1], rel=0.15)


def test_micro_batches_that_are_not_divided_give_sixteen_times_the_gradient() -> None:
    fault = FAULTS["accum-not-divided"]
    sound, broken = train(fault.healthy()), train(fault.broken())
    assert broken.norms[0] == pytest.approx(16 * sound.norms[0], rel=1e-3)


def test_a_full_resume_equals_the_uninterrupted_run() -> None:
    whole = FAULTS["resume-without-rng"].healthy()
    assert train(whole).losses == train(whole.but(resume="none", resume_at=0)).losses
    assert train(whole).losses != train(whole.but(resume="no-rng")).losses


def test_clipping_before_unscaling_sees_the_loss_scale() -> None:
    fault = FAULTS["amp-clip-before-unscale"]
    sound, broken = train(fault.healthy()), train(fault.broken())
    assert broken.norms[0] == pytest.approx(65536 * sound.norms[0], rel=1e-3)
    assert all(broken.clipped)


def test_every_shipped_incident_is_read_without_a_fault() -> None:
    library = load_library()
    assert library.faults == ()
    assert set(library.incidents) == set(RUNS)


def test_outcomes_lie_in_what_their_cause_gives_and_figures_of_the_symptom_in_the_readings() -> None:
    library = load_library()
    for incident in library.incidents.values():
        expects = library.causes[incident.cause].expects
        assert RUNS[incident.id].cause == incident.cause
        for name, shown in incident.readings.items():
            assert shown.outcome in expects[name], (incident.id, name)
        measured = {name: (shown.outcome, shown.shows) for name, shown in incident.readings.items()}
        assert measure.foreign(incident.symptom, measured) == [], incident.id


@pytest.mark.parametrize("name", ["double-softmax", "label-permute", "l2-in-adam"])
def test_a_stored_run_is_measured_as_its_file_says(name: str) -> None:
    assert measure.check_incident(FOLDER, name, write=False) == []


def test_a_wrong_figure_or_outcome_is_told(tmp_path: Path) -> None:
    for name in ("causes", "l2-in-adam"):
        (tmp_path / f"{name}.yaml").write_text((FOLDER / f"{name}.yaml").read_text())
    path = tmp_path / "l2-in-adam.yaml"
    path.write_text(path.read_text().replace("at the end 1.96", "at the end 1.36"))
    assert any("weight-norm shows other figures" in text for text in _told(tmp_path))
    path.write_text(path.read_text().replace("outcome: up", "outcome: down"))
    assert any("weight-norm is up" in text for text in _told(tmp_path))
    measure.check_incident(tmp_path, "l2-in-adam", write=True)
    assert _told(tmp_path) == []


def _told(folder: Path) -> list[str]:
    return measure.check_incident(folder, "l2-in-adam", write=False)


def test_what_a_cause_gives_is_stored_as_measured() -> None:
    causes = yaml.safe_load((FOLDER / "causes.yaml").read_text())["causes"]
    for name in ("nan-row", "lr-too-small"):
        fault = FAULTS[name]
        seen = outcomes(Case(fault.broken(), fault.healthy()))
        assert all(word in causes[name]["expects"][reading] for reading, word in seen.items())
