"""Tests of the last lines of a log."""

from quizapp.tui.rendering.log_text import tail


def test_a_long_step_goes_on_below_without_cutting_a_field() -> None:
    shown = tail(["step 0  loss 1", "step 1  loss 0.5  norm 2  gap 0.25"], 9, 18)
    expected = ["step 0  loss 1", "step 1  loss 0.5", "    norm 2", "    gap 0.25"]
    assert [row.plain for row in shown] == expected


def test_only_the_last_rows_are_shown() -> None:
    assert [row.plain for row in tail(["step 1  loss 0.5  norm 2"], 1, 18)] == ["    norm 2"]
