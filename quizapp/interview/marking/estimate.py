"""Marks the number of an estimate, which need not be exact."""

from quizapp.bank.answers import result_text
from quizapp.bank.model import Question
from quizapp.bank.parameters import SampledQuestion
from quizapp.bank.units import not_a_number, parse_number
from quizapp.util.text import number_text

FULL_WITHIN, HALF_WITHIN = 0.10, 1.5
"""Full marks up to this share off; half up to this factor in either direction."""
_SLACK = 1e-9


def mark_estimate(question: Question, sample: SampledQuestion, text: str) -> tuple[float, str]:
    """Return the credit for the number typed, 0, 0.5 or 1, and a sentence on how far off it is."""
    right = result_text(question, sample)
    number = parse_number(text, question.unit)
    if not text.strip():
        return 0.0, f"No number. Right is {right}."
    if number is None:
        return 0.0, f"{not_a_number(question.unit)} Right is {right}."
    if abs(number - sample.result) <= FULL_WITHIN * abs(sample.result) * (1 + _SLACK):
        return 1.0, f"Within 10 % of {right}."
    ratio = number / sample.result if sample.result else 0.0
    if ratio > 0 and max(ratio, 1 / ratio) <= HALF_WITHIN * (1 + _SLACK):
        return 0.5, f"Within a factor of 1.5 of {right}."
    if ratio > 0:
        size = "large" if ratio > 1 else "small"
        return 0.0, f"{number_text(max(ratio, 1 / ratio))} times too {size}; right is {right}."
    return 0.0, f"Right is {right}."
