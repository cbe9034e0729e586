"""Curves in what readings show, and how they are drawn."""

import pytest

from quizapp.incidents.curves import curve_in
from quizapp.incidents.loader import load_library
from quizapp.tui.rendering.curve import curve_lines


def test_a_row_of_values_by_step_is_a_curve() -> None:
    curve = curve_in("step: loss  0: 2.33 · 1: 2.29 · 10: 1.49 · 127: 7.48e-4")
    assert (curve.label, curve.steps) == ("loss", (0, 1, 10, 127))
    assert curve.values == (2.33, 2.29, 1.49, 0.000748)


def test_what_the_row_says_beside_the_curve_is_kept() -> None:
    curve = curve_in("global norm, steps 3 to 6: 0.6, 0.5, 0.6, 0.7; run median 0.47")
    assert (curve.label, curve.steps, curve.rest) == ("global norm", (3, 4, 5, 6), "run median 0.47")


def test_a_flat_curve_looks_flat() -> None:
    curve = curve_in("global norm, steps 0 to 3: 0.60, 0.50, 0.60, 0.55")
    _, *_, bottom = (line.plain for line in curve_lines(curve, 40))
    assert bottom.startswith("  0 █")
    assert set(bottom.split()[1]) == {"█"}


@pytest.mark.parametrize(
    "row",
    [
        "mean of the last 16 steps 0.0142",
        "by tensor at step 0: layer 1 W 0.229 · layer 1 b 0.0305",
        "predictions per class: 58 51 55 58 50",
        "step: loss  0: 2.30 · 1: NaN · 2: NaN · 5: NaN",
    ],
)
def test_other_rows_stay_numbers(row: str) -> None:
    assert curve_in(row) is None


def test_a_value_that_is_not_finite_is_a_cross() -> None:
    curve = curve_in("step: loss  0: 1.0 · 1: 2.0 · 2: 3.0 · 5: NaN")
    head, top, *_ = (line.plain for line in curve_lines(curve, 30))
    assert head == "loss, steps 0 to 5"
    assert top.endswith("×")


def test_a_wide_range_is_drawn_on_a_logarithmic_scale() -> None:
    curve = curve_in("step: loss  0: 1000 · 1: 100 · 2: 10 · 3: 1")
    head, top, _, bottom = (line.plain for line in curve_lines(curve, 44))
    assert "logarithmic" in head
    assert top.startswith("1e+03 █")
    # On this scale the curve is a straight line, so that a third of it is in the top row.
    assert 10 <= len(top.strip()) - len("1e+03 ") <= 16
    assert bottom.strip().startswith("1 █")


def test_every_loss_curve_of_the_library_that_stays_finite_is_drawn() -> None:
    for incident in load_library().incidents.values():
        rows = incident.readings["loss-curve"].shows.splitlines() if "loss-curve" in incident.readings else []
        for row in rows:
            if row.startswith("step:") and row.count("NaN") == 0:
                assert curve_in(row) is not None, (incident.id, row)
