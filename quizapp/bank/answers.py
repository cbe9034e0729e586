"""Marks answers without a human: numbers, choices, orders and gaps."""

import itertools
import random
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quizapp.bank.model import Question
from quizapp.bank.parameters import SampledQuestion
from quizapp.bank.units import not_a_number, parse_number
from quizapp.util.text import number_text

GAP = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mark:
    """The result of marking an answer, with a sentence for the learner.

    ``right`` is between 0 and 1. ``parts`` says for each part of the answer whether it is right.
    """

    right: float
    note: str
    parts: tuple[bool, ...] = ()


def result_text(question: Question, sample: SampledQuestion) -> str:
    """Format the right number with its unit."""
    return f"{number_text(sample.result)} {question.unit}".strip()


def mark_numeric(question: Question, sample: SampledQuestion, text: str) -> Mark:
    """Mark a typed number. A unit of the same dimension is converted first."""
    number = parse_number(text, question.unit)
    right = result_text(question, sample)
    if not text.strip():
        return Mark(0.0, f"Not answered. Right is {right}.")
    if number is None:
        return Mark(0.0, f"{not_a_number(question.unit)} Right is {right}.")
    slack = max(question.tolerance.absolute, question.tolerance.relative * abs(sample.result))
    # With a tolerance of zero, rounding inside the formula must not make an exact answer wrong.
    slack += 1e-9 * abs(sample.result)
    if abs(number - sample.result) <= slack:
        return Mark(1.0, f"Right: {right}.", (True,))
    note = f"You gave {number_text(number)}; right is {right}."
    if sample.result and number:
        ratio = number / sample.result
        if abs(ratio - 1) < 0.1:
            note += f" That is {100 * abs(ratio - 1):.1f} % off."
        elif ratio > 0:
            size = "large" if ratio > 1 else "small"
            note += f" That is {number_text(max(ratio, 1 / ratio))} times too {size}."
    return Mark(0.0, note, (False,))


def shuffled(question: Question, seed: int) -> tuple[int, ...]:
    """Shuffle the indices of options or steps for display, reproducibly for one ``seed``.

    Steps never come out in the right order.
    """
    count = len(question.options) if question.kind == "choice" else len(question.steps)
    order = list(range(count))
    rng = random.Random(f"{question.id}:order:{seed}")  # noqa: S311 - a shuffle, not a secret
    rng.shuffle(order)
    if question.kind == "order" and count > 1 and order == sorted(order):
        order = [*order[1:], order[0]]
    return tuple(order)


def mark_choice(question: Question, index: int) -> Mark:
    """Mark the chosen option, an index into ``question.options``."""
    option = question.options[index]
    return Mark(float(option.right), option.why, (option.right,))


def mark_order(question: Question, sequence: Sequence[int]) -> Mark:
    """Mark an order of the steps (indices into ``question.steps``) by the fraction of right neighbors."""
    pairs = list(itertools.pairwise(sequence))
    parts = tuple(after == before + 1 for before, after in pairs)
    right = sum(parts) / max(1, len(question.steps) - 1)
    if sorted(sequence) != list(range(len(question.steps))):
        return Mark(0.0, "The order must name every step once.", parts)
    note = (
        "Right order."
        if right == 1
        else f"{sum(parts)} of {len(parts)} steps come right after the one that they should follow."
    )
    return Mark(right, note, parts)


def mark_sequence(question: Question, sequence: Sequence[int]) -> Mark:
    """Mark an order of the steps as a drill does: by the share of pairs in the right order."""
    return replace(mark_order(question, sequence), right=pairs_in_order(sequence))


def pairs_in_order(sequence: Sequence[int]) -> float:
    """The share of all pairs of steps in the right order, 0 to 1: one adjacent swap of four is 5/6."""
    pairs = list(itertools.combinations(sequence, 2))
    return sum(before < after for before, after in pairs) / max(1, len(pairs))


def gaps(question: Question) -> tuple[tuple[str, ...], ...]:
    """The accepted answers for each gap of a cloze question. Solutions show the first one."""
    return tuple(tuple(form.strip() for form in match[1].split("|")) for match in GAP.finditer(question.text))


def mark_cloze(question: Question, answers: Sequence[str]) -> Mark:
    """Mark the typed gaps. Case, spaces, and punctuation at the ends do not count."""
    wanted = gaps(question)
    padded = [*answers, *[""] * (len(wanted) - len(answers))]
    parts = tuple(_same(given, forms) for given, forms in zip(padded, wanted, strict=False))
    right = sum(parts) / max(1, len(parts))
    note = "Right." if right == 1 else f"{sum(parts)} of {len(parts)} gaps are right."
    return Mark(right, note, parts)


def _same(given: str, forms: Sequence[str]) -> bool:
    folded = _fold(given)
    if not folded:
        return False
    number = parse_number(given, "")
    for form in forms:
        wanted = parse_number(form, "")
        if number is not None and wanted is not None:
            if abs(number - wanted) <= 1e-9 * abs(wanted):
                return True
        elif folded == _fold(form):
            return True
    return False


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().strip(" .,;:!?`'\"")
    # "fine tuning", "fine-tuning" and "finetuning" are the same answer.
    return re.sub(r"\s+|(?<=\w)-(?=\w)", "", text)
