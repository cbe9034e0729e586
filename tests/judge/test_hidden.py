"""A hidden test on evidence of any form: a result with a short message, never an exception."""

from typing import Any

import pytest

from quizapp.judge.hidden import Observe, expect, run_test


def observe(value: Any) -> Observe:
    return Observe({}, {"probe/got": value}, {}, "blend.py", "cpu")


@pytest.mark.parametrize(
    ("value", "use"),
    [
        (0, lambda got: 1 / got),
        ([], lambda got: next(iter(got))),
        (1 << 60, bytes),
        (1 << 60, lambda got: [0] * got),
        ("x", lambda got: got.nothing),
    ],
)
def test_evidence_that_breaks_a_test_fails_it(value: Any, use: Any) -> None:
    def test_it(observe: Observe) -> None:
        use(observe["probe/got"])

    result = run_test(test_it, observe(value))
    assert not result.passed
    assert "unexpected form" in result.message


def test_evidence_that_a_message_quotes_is_cut() -> None:
    def test_it(observe: Observe) -> None:
        expect(False, "Not this.", f"got {observe['probe/got']}")

    result = run_test(test_it, observe("\u202e" * 1_000_000))
    assert result.message.startswith("Not this. (got \u202e")
    assert len(result.message) < 3000
