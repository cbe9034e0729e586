"""A hidden test on evidence of any form: a result with a short message, never an exception."""

import math
import re
from typing import Any

import pytest
import torch

from quizapp.judge.server.test_runner import run_test, run_tests
from quizapp.judge.testing.checks import Finding, Observe, alike, behaviour, close, expect
from quizapp.judge.worker.transcript import decode, encode


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
    assert re.search("unexpected form|too much memory", result.message)


def test_evidence_that_a_message_quotes_is_cut() -> None:
    def test_it(observe: Observe) -> None:
        expect(False, "Not this.", f"got {observe['probe/got']}")

    result = run_test(test_it, observe("\u202e" * 1_000_000))
    assert result.message.startswith('Not this. (got "\u202e')
    assert len(result.message) < 3000


def test_tests_that_take_too_long_fail_and_those_before_them_count() -> None:
    def test_quick(observe: Observe) -> None:
        assert observe["probe/got"] == 3

    def test_endless(observe: Observe) -> None:
        while observe["probe/got"]:
            try:
                pass
            except Exception:  # noqa: BLE001 - what ends it is none
                continue

    def test_later(observe: Observe) -> None:
        assert observe["probe/got"]

    results = run_tests([test_quick, test_endless, test_later], observe(3), seconds=0.3)
    assert [result.passed for result in results] == [True, False, False]
    assert all("far more than was asked for" in result.message for result in results[1:])
    assert sum(range(1_000_000)) > 0  # nothing comes after it


def test_the_time_is_that_of_all_tests_together_and_of_each_run_its_own() -> None:
    def test_some(observe: Observe) -> None:
        for n in range(1_000_000):
            assert n >= 0

    assert not all(result.passed for result in run_tests([test_some] * 200, observe(3), seconds=0.3))
    assert all(result.passed for result in run_tests([test_some] * 2, observe(3)))


@pytest.mark.parametrize("value", [torch.ones(1).expand(1 << 44), [0.5] * 20_000])
def test_far_too_much_is_refused_before_it_is_widened(value: Any) -> None:
    def test_it(observe: Observe) -> None:
        close(observe["probe/got"], torch.ones(2), "Two ones.")

    result = run_test(test_it, observe(value))
    assert not result.passed
    assert result.message.startswith("Two ones. Got ")
    assert len(result.message) < 200


def test_lists_and_tensors_of_the_right_shape_are_compared() -> None:
    for value in ([1.0, 1.0], (1, 1), torch.ones(2, dtype=torch.int64), [torch.ones(()), torch.ones(())]):
        close(value, torch.ones(2), "Two ones.", rtol=0, atol=1e-9)
    close(1, torch.ones(()), "One.")
    close([[1.0] * 30] * 50, torch.ones(50, 30), "Many ones.")


def test_alike_means_the_same_values_types_and_shapes() -> None:
    nan = torch.tensor([1.0, float("nan"), float("inf")])
    same = {"a": [nan, (1, "x", None)], "b": torch.zeros(0)}
    assert alike(same, {"a": [nan.clone(), (1, "x", None)], "b": torch.zeros(0)})
    assert alike([math.nan, {"best": math.inf}], [float("nan"), {"best": float("inf")}])
    for left, right in [
        (nan, nan + 1),
        (nan, nan.double()),
        (nan, nan[:, None]),
        (torch.ones(2), torch.ones(3)),
        (torch.ones(1), 1.0),
        (1, 1.0),
        (1, True),
        (math.nan, 1.0),
        ([1], (1,)),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({}, {"a": 1}),
    ]:
        assert not alike(left, right)
        assert not alike(right, left)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (torch.ones(2, dtype=torch.complex64), "Got a complex64 tensor of shape (2,)."),
        (torch.ones(2, device="meta"), "Got a float32 tensor of shape (2,) without values, on meta."),
        (torch.ones(2).to_sparse(), "Got a tensor of torch.float32, torch.sparse_coo."),
        (torch.ones(2).to(torch.uint16), "Got a tensor of torch.uint16, torch.strided."),
        (torch.ones([1] * 20), "Got a tensor of 20 dimensions, one of 1."),
        (torch.ones(0, 1 << 40), f"Got a tensor of 2 dimensions, one of {1 << 40}."),
        (1 << 5000, "Got an integer of 5001 bits."),
        (1 << 2000, f"Got {str(1 << 2000)[:77]}...."),
        (object, "Got an object of type builtins.type."),
    ],
)
def test_what_is_no_such_number_is_told_as_what_it_is(value: Any, told: str) -> None:
    with pytest.raises(Finding) as caught:
        close(decode(encode(value)), torch.ones(2), "Two ones.")
    assert str(caught.value) == f"Two ones. {told}"


def test_no_error_is_measured_to_a_value_that_is_not_finite() -> None:
    with pytest.raises(Finding) as caught:
        close(torch.zeros(2), torch.tensor([0.0, -math.inf]), "Masked.", rtol=0, atol=0.1)
    assert str(caught.value) == "Masked. Got 0 at index [1], expected -inf (1 of 2 elements wrong)."
    with pytest.raises(Finding) as caught:
        close(1.0, math.nan, "Nothing.")
    assert str(caught.value) == "Nothing. Got 1, expected nan."


def test_a_message_that_presumes_a_simpler_test_refers_to_it_while_that_fails() -> None:
    @behaviour(1)
    def test_values(observe: Observe) -> None:
        close(observe["probe/got"], 3.0, "The sum is wrong.")

    @behaviour(2, presumes=("values",))
    def test_views(observe: Observe) -> None:
        close(observe["probe/got"], 4.0, "A view gives another sum.", mistakes={"Yours is doubled.": 8.0})

    def message(value: float) -> str:
        return run_tests([test_values, test_views], observe(value))[1].message

    assert message(5.0) == "This cannot hold while a simpler check fails: The sum is wrong."
    assert message(3.0).startswith("A view gives another sum. Got 3")
    assert message(8.0).startswith("Yours is doubled. Got 8")
