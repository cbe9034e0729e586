"""A diagnosis is marked by the stored readings: what was named, predicted, and rejected by what."""

from pathlib import Path

import pytest

from quizapp.incidents.diagnosis import (
    BoughtReading,
    DiagnosisMark,
    IncidentSnapshot,
    StatedDiagnosis,
    cheapest_path,
    compare_diagnosis,
    diagnose,
    snapshot,
)
from quizapp.incidents.loader import load_library

LIBRARY = load_library(Path(__file__).parent.parent / "data" / "incidents")
RIGHT = {
    "cause": "labels-shuffled", "place": "data", "states": ["rng", "sampler", "optimizer"],
    "decoy": "dead-units", "reading": "one-batch",
}  # fmt: skip


def asked(name: str = "flat-loss", seed: int = 1) -> IncidentSnapshot:
    return snapshot(LIBRARY.incidents[name], LIBRARY, seed)


def bought(case: IncidentSnapshot, **said: str) -> list[BoughtReading]:
    rows = {row.id.replace("-", "_"): row for row in case.readings}
    return [
        BoughtReading(rows[name].id, rows[name].seconds, word, rows[name].outcome, 0)
        for name, word in said.items()
    ]


def marked(said: dict, case: IncidentSnapshot | None = None, **readings: str) -> DiagnosisMark:
    case = case or asked()
    return diagnose(case, StatedDiagnosis(**said), bought(case, **readings))


def test_a_right_diagnosis_by_the_cheapest_path() -> None:
    found = marked(RIGHT, one_batch="down")
    assert (found.cause, found.place, found.evidence) == (True, True, 1.0)
    assert (found.predicted, found.predictions) == (1, 1)
    assert (found.paid, found.cheapest) == (30, 30)
    assert (found.states_right, found.states_wrong, found.states) == (3, 0, 3)


def test_predictions_count_on_paid_readings_and_on_free_ones_where_none_was_paid() -> None:
    found = marked(RIGHT, loss_curve="up", gradient_norms="flat", one_batch="up")
    assert (found.predicted, found.predictions) == (1, 2)
    assert marked(RIGHT, loss_curve="flat").predictions == 1
    assert marked(RIGHT).predictions == 0


@pytest.mark.parametrize(
    ("said", "readings", "evidence"),
    [
        ({"decoy": "dead-units", "reading": "one-batch"}, {"one_batch": "up"}, 1.0),
        ({"decoy": "dead-units", "reading": "one-batch"}, {"loss_curve": "flat"}, 0.0),  # not bought
        ({"decoy": "dead-units", "reading": "loss-curve"}, {"loss_curve": "flat"}, 0.0),  # fits the decoy
        ({"decoy": "stale-gradients", "reading": "loss-curve"}, {"loss_curve": "flat"}, 0.5),  # no decoy
        ({"decoy": "labels-shuffled", "reading": "one-batch"}, {"one_batch": "up"}, 0.0),  # named itself
        ({"decoy": "summed-loss", "reading": "one-batch"}, {"one_batch": "up"}, 0.0),  # never measured
        ({"reading": "one-batch"}, {"one_batch": "up"}, 0.0),
        ({}, {"one_batch": "up"}, 0.0),
    ],
)
def test_evidence_is_a_rejection_that_the_reading_supports(
    said: dict, readings: dict, evidence: float
) -> None:
    assert marked({"cause": "labels-shuffled", "place": "data"} | said, **readings).evidence == evidence


@pytest.mark.parametrize(
    ("said", "readings", "shown"),
    [
        ({"reading": "one-batch"}, {"one_batch": "up"}, "Most hidden units are dead (by One-batch test)"),
        ({"reading": "one-batch"}, {}, "(by One-batch test, which was not taken)"),
        ({"reading": "loss-curve"}, {"loss_curve": "flat"}, "(by Loss curve, which does not exclude it)"),
        ({"cause": "dead-units", "reading": "one-batch"}, {"one_batch": "up"}, "also named as the cause)"),
        ({}, {"one_batch": "up"}, "Most hidden units are dead (no reading named)"),
    ],
)
def test_a_rejection_without_credit_says_what_it_lacks(said: dict, readings: dict, shown: str) -> None:
    case = asked()
    stated = StatedDiagnosis(**{"cause": "labels-shuffled", "decoy": "dead-units"} | said)
    row = compare_diagnosis(case, stated, bought(case, **readings))[-1]
    assert row.stated.startswith("Most hidden units are dead")
    assert row.stated.endswith(shown)


def test_a_false_alarm_wants_the_control_run_and_no_fault() -> None:
    case = asked("quiet-floor")
    healthy = {"cause": "no-fault", "place": "nothing"}
    found = marked(healthy, case, control_run="same")
    assert (found.false_alarm, found.edit, found.cause, found.evidence) == (True, False, True, 1.0)
    assert found.cheapest == 20
    assert marked(healthy, case, one_batch="down").evidence == 0.0
    assert marked({"cause": "leak"}, case, control_run="same").edit
    assert not marked({}, case).edit


def test_nothing_said_is_worth_nothing() -> None:
    found = diagnose(asked(), None, [])
    assert (found.cause, found.place, found.predicted, found.evidence) == (False, False, 0, 0.0)
    assert found.states_right == 0


def test_the_cheapest_path_rejects_every_decoy_for_the_least_seconds() -> None:
    for incident in LIBRARY.incidents.values():
        path, seconds = cheapest_path(incident, LIBRARY)
        assert seconds == sum(LIBRARY.readings[name].seconds for name in path)
        if not incident.false_alarm:
            for decoy in incident.decoys:
                cause = LIBRARY.causes[decoy]
                assert any(cause.excluded_by(name, incident.readings[name].outcome) for name in path)


def test_the_order_of_causes_and_states_hangs_on_the_seed_alone() -> None:
    assert asked(seed=3) == asked(seed=3)
    orders = {tuple(row.id for row in asked(seed=seed).causes) for seed in range(6)}
    assert len(orders) > 3
    assert all(sorted(order) == sorted(LIBRARY.incidents["flat-loss"].offered) for order in orders)


def test_a_cause_is_not_named_and_rejected_at_once() -> None:
    stated = StatedDiagnosis(decoy="leak", reading="one-batch")
    stated.commit("cause", "leak")
    assert (stated.cause, stated.decoy, stated.reading) == ("leak", "", "one-batch")
    assert stated.missing() == ["place", "decoy"]


def test_a_run_without_a_fault_has_no_place() -> None:
    stated = StatedDiagnosis(place="data")
    stated.commit("cause", "no-fault")
    assert stated.place == "nothing"
    stated.commit("cause", "leak")
    assert stated.place == ""
    stated.commit("place", "data")
    stated.commit("cause", "dead-units")
    assert (stated.place, stated.missing()) == ("data", ["decoy"])


def test_a_state_is_ticked_and_unticked() -> None:
    stated = StatedDiagnosis(states=["rng"])
    stated.commit("states", stated.toggle_state("sampler"))
    assert stated.states == ["rng", "sampler"]
    assert stated.toggle_state("rng") == ["sampler"]
