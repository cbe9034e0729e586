"""The lab breaks runs for real, and the stored figures and outcomes are those that it measures."""

import math
from pathlib import Path

import pytest
import yaml

from quizapp.incidents.loader import load_library
from tools.incident_lab import measure
from tools.incident_lab.catalogue import RUNS
from tools.incident_lab.data import make_data
from tools.incident_lab.faults import FAULTS
from tools.incident_lab.reading_texts import SHOWS, number
from tools.incident_lab.readings import OUTCOMES, RunPair, outcomes
from tools.incident_lab.scripts.incidents import script_incidents
from tools.incident_lab.setups import BASELINE
from tools.incident_lab.training import one_batch, train

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

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


def test_a_broadcast_squared_error_stops_at_the_variance_of_the_targets_and_predicts_their_mean() -> None:
    fault = FAULTS["mse-broadcast"]
    sound, broken = train(fault.healthy()), train(fault.broken())
    assert sound.fit[1] > 0.95
    assert abs(broken.fit[1]) < 0.05
    assert broken.scatter[0] < 0.02 < 0.9 < sound.scatter[0]
    record = one_batch(fault.broken())
    targets = make_data(fault.broken()).y[list(record.batches[0])]
    assert record.end == pytest.approx(float(targets.var(correction=0)), rel=0.01)
    assert one_batch(fault.healthy()).end < 1e-6


@pytest.mark.parametrize("name", [name for name, stored in RUNS.items() if stored.cause == "no-fault"])
def test_a_false_alarm_trains_well_and_so_does_its_control_on_another_seed(name: str) -> None:
    case = RUNS[name].case()
    for record in (case.run, case.other):
        assert record.first_bad is None
        assert record.end < 0.25 * record.losses[0]
        assert record.valid_accuracy > 0.85
    assert OUTCOMES["control-run"](case) == "flat"


def test_a_clipped_run_tells_its_largest_late_norm_and_what_followed() -> None:
    case = RUNS["clipped-spike-false-alarm"].case()
    norms, losses = case.run.norms, case.run.losses
    at = norms.index(max(norms[128:]))
    after = sum(losses[at + 1 : at + 11]) / 10
    told = SHOWS["gradient-norms"](case)
    assert f"largest {number(norms[at])} at step {at}; loss there {number(losses[at])}" in told
    assert told.endswith(f"of those after {number(after)}")
    assert "second half of the run" in SHOWS["control-run"](case)


def test_a_run_resumed_in_full_has_the_loss_of_the_uninterrupted_one_at_every_step() -> None:
    case = RUNS["resume-noise-false-alarm"].case()
    assert case.run.losses == case.healthy.losses
    assert case.run.losses[149] > 10 * case.run.losses[148]


def test_about_one_incident_in_eight_is_a_false_alarm() -> None:
    found = load_library().incidents.values()
    alarms = [incident for incident in found if incident.false_alarm]
    assert len(found) / 10 < len(alarms) < len(found) / 6
    assert len({incident.exercise for incident in alarms}) == len(alarms)
    for incident in alarms:
        text = f"{incident.title} {incident.setup} {incident.symptom}".casefold()
        assert "false alarm" not in text


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
    assert set(library.incidents) == set(RUNS) | set(script_incidents(FOLDER, but=RUNS))


def test_outcomes_lie_in_what_their_cause_gives_and_figures_of_the_symptom_in_the_readings() -> None:
    library = load_library()
    for incident in library.incidents.values():
        expects = library.causes[incident.cause].expects
        assert incident.id not in RUNS or RUNS[incident.id].cause == incident.cause
        for name, shown in incident.readings.items():
            # A cause may lack measurements of what only other baselines can show.
            assert shown.outcome in expects.get(name, (shown.outcome,)), (incident.id, name)
        measured = {name: (shown.outcome, shown.shows) for name, shown in incident.readings.items()}
        assert measure.unknown_numbers(incident.symptom, measured) == [], incident.id


@pytest.mark.parametrize("name", ["double-softmax", "label-permute", "l2-in-adam"])
def test_a_stored_run_is_measured_as_its_file_says(name: str) -> None:
    assert measure.check_incident(FOLDER, name, write=False) == []


def test_a_wrong_figure_or_outcome_is_told(tmp_path: Path) -> None:
    for name in ("causes", "l2-in-adam"):
        (tmp_path / f"{name}.yaml").write_text((FOLDER / f"{name}.yaml").read_text())
    path = tmp_path / "l2-in-adam.yaml"
    path.write_text(path.read_text().replace("at the end 1.96", "at the end 1.36"))
    assert any("weight-norm shows other numbers" in text for text in _told(tmp_path))
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
        seen = outcomes(RunPair(fault.broken(), fault.healthy()))
        assert all(word in causes[name]["expects"][reading] for reading, word in seen.items())
