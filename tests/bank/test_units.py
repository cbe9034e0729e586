import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.bank.units import parse_number, plain_numbers


@pytest.mark.parametrize(
    "text", ["112 GB", "1.12e11 B", "0.112 TB", "112", "112,000 MB", "112gb", "~112 GB", "1.12 × 10^11 B"]
)
def test_the_same_size_in_every_spelling(text: str) -> None:
    assert parse_number(text, "GB") == pytest.approx(112)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("104.3 GiB", "GB", 104.3 * 2**30 / 1e9),
        ("112 GB", "GiB", 112e9 / 2**30),
        ("8 Gbit", "GB", 1.0),
        ("3/4", "", 0.75),
        ("2^24", "", 2**24),
        ("-3.5", "", -3.5),
        ("−3.5", "", -3.5),
        ("1.5×10⁻³", "", 0.0015),
        ("1e-8", "", 1e-8),
        ("12 h", "day", 0.5),
        ("250 us", "ms", 0.25),
        ("50%", "", 0.5),
        ("50 %", "%", 50.0),
        ("7B", "params", 7e9),
        ("7 billion", "params", 7e9),
        ("4k tokens", "tokens", 4000.0),
        ("312 TFLOPS", "TFLOP/s", 312.0),
        ("0.312 PFLOP/s", "TFLOP/s", 312.0),
        ("1 000 000", "steps", 1e6),
        ("$12", "USD", 12.0),
        ("3x", "x", 3.0),
        ("6*405e9*2e12/1e21", "ZFLOP", 4860.0),
        ("(16 + 2) × 7 GB", "GB", 126.0),
        ("2 * 1,024", "", 2048.0),
        ("7e9 * 16 / 2^30 GiB", "GiB", 7e9 * 16 / 2**30),
        ("100 − 1/8", "", 99.875),
        ("1 - 0.9^3", "", 0.271),
    ],
)
def test_units_are_converted_to_the_questions(text: str, unit: str, value: float) -> None:
    assert parse_number(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, 4.2e22) for text in ("4.2e22", "4.2E22", "4.2e+22", "4,2e22", "4.2·10²²", "4.2 × 10^22")),
        *((text, 4.2e22) for text in ("4.2*10**22", "4.2x10^22", "4.2 ⋅ 10²²", "42·10²¹", "42,000e18")),
        *((text, 0.001) for text in ("1e-3", "1e−3", "10⁻³", "10^−3", "0.001", "0,001", "1 × 10⁻³")),
        *((text, 4.2) for text in ("4,2", "4.2")),
        *((text, 1000.0) for text in ("1,000", "1 000", "1_000", "1'000", "1’000", "1000", "10³")),
        *((text, 1234567.5) for text in ("1,234,567.5", "1.234.567,5", "1 234 567,5", "1'234'567.5")),
        ("3,14159", 3.14159),
        ("−3,5", -3.5),
        ("1/2·10^3", 500.0),
        ("10^3^2", 1e9),
    ],
)
def test_a_number_in_every_spelling(text: str, value: float) -> None:
    assert parse_number(text, "") == pytest.approx(value, rel=1e-12)


def test_a_decimal_comma_and_powers_of_ten_are_read_in_sentences_too() -> None:
    said = plain_numbers("FLOPs are 4,2·10²², about 4.2 × 10^22; accuracy 0,943 on 1,024 points.")
    assert said == "FLOPs are 4.2e22, about 4.2e22; accuracy 0.943 on 1024 points."


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("10^999", ""),
        ("1e999", ""),
        ("4.2e22e3", ""),
        ("", "GB"),
        ("many", "GB"),
        ("5 apples", "GB"),
        ("5 s", "GB"),
        ("1/0", ""),
        ("9^99999", ""),
        ("1.2.3", ""),
        ("--3", ""),
        ("2 +", ""),
        ("((9^99)^99)^99", ""),
        ("1/(2-2)", ""),
        ("3 * 4 apples", "GB"),
    ],
)
def test_what_is_no_number_in_the_unit_is_refused(text: str, unit: str) -> None:
    assert parse_number(text, unit) is None


@given(st.text(max_size=40), st.sampled_from(["", "GB", "tokens", "%", "s"]))
def test_no_input_raises_and_every_number_is_a_float(text: str, unit: str) -> None:
    number = parse_number(text, unit)
    assert number is None or not math.isnan(number)


@given(st.floats(min_value=1e-6, max_value=1e12), st.sampled_from(["B", "kB", "MB", "GiB", "TiB", "Gbit"]))
def test_conversion_there_and_back_changes_nothing(value: float, unit: str) -> None:
    there = parse_number(f"{value!r} {unit}", "GB")
    assert there is not None
    back = parse_number(f"{there!r} GB", unit)
    assert back == pytest.approx(value, rel=1e-9)
