"""Fits the latent semantic space of `quizapp.bank.meaning.space` on the bank's own text.

Every field of a question, of an exercise's description and of an incident is a document, and so is every pair
of neighboring sentences. Counts are weighted by 1 + log(count) and inverse document frequency, and the
concepts' space is spanned by the leading eigenvectors of the concepts' products.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.bank.meaning.concepts import NUMBER, concepts
from quizapp.bank.meaning.sentences import sentences
from quizapp.bank.model import Bank, Question

DIMENSIONS = 128
_LEAST_DOCUMENTS = 2  # in which a concept must occur to have a vector
FILE = Path(__file__).parents[2] / "quizapp" / "bank" / "meaning" / "fitted" / "space.npz"


def question_texts(question: Question) -> Iterator[str]:
    """The fields of a question that hold prose."""
    yield question.prompt
    yield question.answer
    yield question.say
    yield from (point.text for point in question.key_points)
    for misconception in question.misconceptions:
        yield misconception.wrong + " " + misconception.right
    for follow_up in question.follow_ups:
        yield follow_up.ask + " " + follow_up.answer
    for option in question.options:
        yield option.text + " " + option.why
    yield question.worked
    yield from question.steps
    yield question.text


def bank_texts(bank: Bank) -> Iterator[str]:
    """All prose of the bank."""
    for question in bank.questions.values():
        yield from question_texts(question)
        yield "\n".join(question_texts(question))
    for exercise in bank.exercises.values():
        yield exercise.prompt
        yield from exercise.behaviours.values()
        yield from (hint.text for hint in exercise.hints)
        yield from (point.text for point in exercise.rubric)
    for file in sorted((paths.content() / "incidents").glob("*.yaml")):
        yield file.read_text(encoding="utf-8")


def documents(bank: Bank) -> Iterator[Counter[str]]:
    """The concepts of each document with their counts."""
    for text in bank_texts(bank):
        yield _counted(text)
        for first, second in pairwise([*sentences(text), ""]):
            yield _counted(first + " " + second)


def _counted(text: str) -> Counter[str]:
    return Counter(concept.name for concept in concepts(text) if not concept.name.startswith(NUMBER))


def fit(bank: Bank) -> None:
    """Fit the space and write it into the package."""
    rows = [document for document in documents(bank) if document]
    frequency = Counter(name for row in rows for name in row)
    names = sorted(name for name, count in frequency.items() if count >= _LEAST_DOCUMENTS)
    place = {name: at for at, name in enumerate(names)}
    counts = np.array([frequency[name] for name in names], np.float64)
    inverse = np.log((1 + len(rows)) / (1 + counts))
    products = np.zeros((len(names), len(names)))
    for row in rows:
        at = [place[name] for name in row if name in place]
        if not at:
            continue
        values = np.array([1 + np.log(row[names[index]]) for index in at]) * inverse[at]
        values /= np.linalg.norm(values)
        products[np.ix_(at, at)] += np.outer(values, values)
    values, vectors = np.linalg.eigh(products)
    leading = np.argsort(values)[::-1][:DIMENSIONS]
    space = vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0)) ** 0.5
    space /= np.maximum(np.linalg.norm(space, axis=1, keepdims=True), 1e-9)
    weights = (inverse / inverse.max()).astype(np.float16)
    np.savez_compressed(
        FILE,
        names=np.frombuffer("\n".join(names).encode(), np.uint8),
        vectors=np.round(space * 127).astype(np.int8),
        weights=weights,
    )


if __name__ == "__main__":
    fit(load_bank())
