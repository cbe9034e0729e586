"""Samples values for numeric questions. The same seed always gives the same values."""

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from quizapp.bank import QuestionKind
from quizapp.bank.expressions import ExpressionError, evaluate, render
from quizapp.bank.model import Question, Value
from quizapp.errors import ContentError

_ATTEMPTS = 200
_MAX_COMBINATIONS = 2000
_MAX_TRIALS = 64


@dataclass(frozen=True, slots=True)
class SampledQuestion:
    """A question with its values filled in; ``result`` is the right number in the question's unit."""

    prompt: str
    answer: str
    worked: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    result: float = math.nan


def sample_question(question: Question, seed: int) -> SampledQuestion:
    """Fill in a numeric question with values sampled from ``seed``; other kinds come back unchanged.

    Raises `ContentError` if a formula has no finite value.
    """
    if question.kind != QuestionKind.NUMERIC:
        return SampledQuestion(question.prompt, question.answer)
    rng = random.Random(f"{question.id}:{seed}")  # noqa: S311 - reproducible values, not secrets
    try:
        return fill_in(question, _sample_values(question, rng))
    except ExpressionError as error:
        place = f"({question.file}:{question.line})" if question.file else ""
        raise ContentError(f"question '{question.id}' {place} cannot be shown: {error}") from None


def fill_in(question: Question, values: Mapping[str, Value]) -> SampledQuestion:
    """Fill in the given values. Raises `ExpressionError` if a formula has no finite value."""
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


def try_formulas(question: Question) -> None:
    """Try enough values to find a formula that fails for some of them. Raises `ExpressionError` if one does.

    Up to 64 combinations are all tried. From a larger number, this selects each single value once,
    combinations of the smallest and largest values, and a random sample.
    """
    if question.kind != QuestionKind.NUMERIC:
        return
    rng = random.Random(question.id)  # noqa: S311 - the same deck has the same faults each time
    _sample_values(question, rng)  # raises if no combination meets 'where'
    for values in itertools.islice(_trials(question, rng), _MAX_TRIALS):
        fill_in(question, values)


def _trials(question: Question, rng: random.Random) -> Iterator[dict[str, Value]]:
    choices = list(question.values.values())
    if math.prod(map(len, choices)) <= _MAX_TRIALS:
        yield from _combinations(question, itertools.product(*choices))
        return
    extremes = [(min(values, key=_size), max(values, key=_size)) for values in choices]
    longest = min(max(map(len, choices)), _MAX_TRIALS // 2)
    rows = [tuple(values[i % len(values)] for values in choices) for i in range(longest)]
    rows += itertools.islice(itertools.product(*extremes), _MAX_TRIALS // 4)
    rows += [tuple(map(rng.choice, choices)) for _ in range(_MAX_TRIALS // 4)]
    yield from _combinations(question, dict.fromkeys(rows))


def _size(value: Value) -> float:
    return 0.0 if isinstance(value, str) else value


def _combinations(question: Question, rows: Iterable[tuple[Value, ...]]) -> Iterator[dict[str, Value]]:
    """Name the values of each row, and skip the rows that the question's ``where`` excludes."""
    for row in rows:
        values = dict(zip(question.values, row, strict=True))
        if not question.where or evaluate(question.where, values):
            yield values


def _sample_values(question: Question, rng: random.Random) -> dict[str, Value]:
    # Guessing is fast unless 'where' excludes nearly everything. Only then list the combinations.
    for _ in range(_ATTEMPTS):
        values: dict[str, Value] = {name: rng.choice(choices) for name, choices in question.values.items()}
        if not question.where or evaluate(question.where, values):
            return values
    rows = itertools.islice(itertools.product(*question.values.values()), _MAX_COMBINATIONS)
    admitted = list(_combinations(question, rows))
    if not admitted:
        raise ExpressionError("no combination of the values meets 'where'; widen one of them")
    return rng.choice(admitted)
