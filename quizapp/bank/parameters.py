"""Fresh values for parametric questions: the same seed always draws the same ones."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quizapp.bank.expressions import ExpressionError, evaluate, render
from quizapp.bank.model import Question, Value

_MAX_COMBINATIONS = 20_000


@dataclass(frozen=True, slots=True)
class SampledQuestion:
    """A question with its values filled in; ``result`` is the right number in the question's unit."""

    prompt: str
    answer: str
    worked: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    result: float = math.nan


def combinations(question: Question) -> Iterator[dict[str, Value]]:
    """Every combination of values that the question's ``where`` admits."""
    names = list(question.values)
    for picked in itertools.islice(itertools.product(*question.values.values()), _MAX_COMBINATIONS):
        values: dict[str, Value] = dict(zip(names, picked, strict=True))
        if not question.where or evaluate(question.where, values):
            yield values


def sample_question(question: Question, seed: int) -> SampledQuestion:
    """The question under ``seed``; raises `ExpressionError` where a formula has no finite value."""
    if question.kind != "numeric":
        return SampledQuestion(question.prompt, question.answer)
    rng = random.Random(f"{question.id}:{seed}")  # noqa: S311 - reproducible values, not secrets
    values = _pick(question, rng)
    return fill(question, values)


def _pick(question: Question, rng: random.Random) -> dict[str, Value]:
    for _ in range(200):
        values: dict[str, Value] = {name: rng.choice(choices) for name, choices in question.values.items()}
        if not question.where or evaluate(question.where, values):
            return values
    admitted = list(combinations(question))
    if not admitted:
        raise ExpressionError("no combination of the values meets 'where'; widen one of them")
    return rng.choice(admitted)


def fill(question: Question, values: Mapping[str, Value]) -> SampledQuestion:
    """The numeric question with the given values."""
    names: dict[str, Value] = dict(values)
    for name, formula in question.let.items():
        names[name] = evaluate(formula, names)
    result = evaluate(question.formula, names)
    if isinstance(result, str) or not math.isfinite(result):
        raise ExpressionError(f"the formula gives {result} for {dict(values)}; a finite number is needed")
    names["result"] = result
    return SampledQuestion(
        prompt=render(question.prompt, names),
        answer=render(question.answer, names),
        worked=render(question.worked, names),
        values=names,
        result=float(result),
    )
