"""Fits the weights of `quizapp.bank.meaning.model` on the labeled answers to questions that are not held out.

Statements of the cards themselves serve as further examples: a card's own answer shows its key points, a key
point shows itself and no other, and a wrong statement states itself and shows nothing.
"""

import json
import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quizapp.bank.loader import load_bank
from quizapp.bank.meaning.features import ANSWER_FEATURES, FEATURES, WRONG_FEATURES, features
from quizapp.bank.meaning.text_marking import Card, card_of
from quizapp.bank.model import Bank
from tools.marking.labeled import read_labeled

FILE = Path(__file__).parents[2] / "quizapp" / "bank" / "meaning" / "fitted" / "weights.json"
_RIDGE = 10.0
_OWN_WEIGHT = 0.15  # of an example made from a card, compared with a labeled answer
_JUNK_WEIGHT = 0.3  # of an example that does not speak of the card
_EMBARRASSED = (
    "I would have to look that up, but in my last project we always found a way around it.",
    "It depends on the setup, and in practice you try a few things and see what works best for your data.",
    "I am not sure, I think it has something to do with training and the model, but I never needed it.",
)
_FOLDS = 5
FALSE_SHARE = 0.08  # of the key points that an answer does not show, proposed at the threshold
_FALSE_WRONGS = 0.02  # likewise of the misconceptions, since an accusation weighs more than praise

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """An answer with its labels (nan: not labeled) and its weight."""

    question: str
    card: Card
    text: str
    shown: Floats
    stated: Floats
    weight: float
    kind: str


def labeled_examples(bank: Bank, *, held_out: bool) -> Iterator[Example]:
    """The labeled answers as examples."""
    for row in read_labeled(bank, held_out=held_out):
        points, wrongs = len(row.card.points), len(row.card.misconceptions)
        shown = _labels(row.shown, points)
        yield Example(row.question, row.card, row.text, shown, _labels(row.stated, wrongs), 1.0, row.kind)


def _labels(held: frozenset[int] | None, count: int) -> Floats:
    if held is None:
        return np.full(count, np.nan)
    return np.array([float(index in held) for index in range(count)])


def card_examples(bank: Bank, questions: Iterable[str]) -> Iterator[Example]:
    """Examples made from the cards themselves."""
    for name in questions:
        card = card_of(bank.questions[name])
        points, wrongs = len(card.points), len(card.misconceptions)
        everything, nothing = np.ones(points), np.zeros(points)
        unknown, none = np.full(points, np.nan), np.zeros(wrongs)

        def own(
            text: str, shown: Floats, stated: Floats, kind: str, name: str = name, card: Card = card
        ) -> Example:
            return Example(name, card, text, shown, stated, _OWN_WEIGHT, kind)

        yield own(card.references[0], everything, none, "answer")
        yield own("\n".join(point.text for point in card.points), everything, none, "points")
        yield own("\n".join(row.wrong for row in card.misconceptions), nothing, np.ones(wrongs), "wrongs")
        for index, point in enumerate(card.points):
            yield own(point.text, np.where(np.arange(points) == index, 1.0, np.nan), none, "point")
        for index, row in enumerate(card.misconceptions):
            yield own(row.wrong, nothing, np.eye(wrongs)[index], "wrong")
            yield own(row.right, unknown, none, "right")


def junk_examples(examples: Sequence[Example]) -> Iterator[Example]:
    """Answers that do not speak of the card: right answers to other questions, and words of embarrassment."""
    chance = random.Random(3)  # noqa: S311 - a choice of examples, the same every time
    complete = [example for example in examples if example.kind == "complete"]
    for example in complete:
        others = [other for other in complete if other.question != example.question]
        texts = [*(other.text for other in chance.sample(others, 2)), chance.choice(_EMBARRASSED)]
        for text in texts:
            nothing = np.zeros(len(example.shown)), np.zeros(len(example.stated))
            yield Example(example.question, example.card, text, *nothing, _JUNK_WEIGHT, "junk")


class Table(NamedTuple):
    """Rows of features with labels, weights and the fold of their question."""

    rows: Floats
    labels: Floats
    weights: Floats
    folds: NDArray[np.int64]

    def select(self, chosen: NDArray[np.bool_]) -> "Table":
        """Some of the rows."""
        return Table(self.rows[chosen], self.labels[chosen], self.weights[chosen], self.folds[chosen])


def tables(examples: Iterable[Example]) -> tuple[Table, Table, Table]:
    """The tables of answers (on topic or not), of key points and of misconceptions."""
    parts: tuple[list[Table], list[Table], list[Table]] = ([], [], [])
    for example in examples:
        measured = features(example.card, example.text)
        if measured is None:
            continue
        fold = zlib.crc32(("fold " + example.question).encode()) % _FOLDS
        on_topic = np.array([float(example.kind != "junk")])
        for part, rows, labels in (
            (parts[0], measured.answer[None, :], on_topic),
            (parts[1], measured.points, example.shown),
            (parts[2], measured.wrongs, example.stated),
        ):
            count = len(labels)
            made = Table(rows.astype(float), labels, np.full(count, example.weight), np.full(count, fold))
            part.append(made.select(~np.isnan(labels)))
    topic, points, wrongs = (Table(*map(np.concatenate, zip(*part, strict=True))) for part in parts)
    return topic, points, wrongs


def fit_logistic(rows: Floats, labels: Floats, weights: Floats) -> Floats:
    """Weights and intercept of a logistic model with a ridge penalty on standardized features."""
    spread = np.maximum(rows.std(axis=0), 1e-3)
    scaled = np.hstack([rows / spread, np.ones((len(rows), 1))])
    ridge = np.diag(np.append(np.full(rows.shape[1], _RIDGE), 1e-6))
    beta = np.zeros(scaled.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(scaled @ beta, -30, 30)))
        slope = scaled.T @ (weights * (p - labels)) + ridge @ beta
        curvature = (scaled * (weights * p * (1 - p))[:, None]).T @ scaled + ridge
        beta -= np.linalg.solve(curvature, slope)
    return np.append(beta[:-1] / spread, beta[-1])


def predict(beta: Floats, rows: Floats) -> Floats:
    """The probabilities of rows under weights and intercept."""
    p: Floats = 1 / (1 + np.exp(-np.clip(rows @ beta[:-1] + beta[-1], -30, 30)))
    return p


def cross_validated(table: Table) -> Floats:
    """Each row's probability by a model that was fitted without its question."""
    p = np.zeros(len(table.labels))
    for fold in range(_FOLDS):
        out = table.folds == fold
        if out.any():
            p[out] = predict(
                fit_logistic(table.rows[~out], table.labels[~out], table.weights[~out]), table.rows[out]
            )
    return p


def threshold(p: Floats, labels: Floats, false_share: float) -> float:
    """The threshold at which ``false_share`` of what is not shown is proposed all the same."""
    return float(np.quantile(p[labels == 0], 1 - false_share))


def main() -> None:
    """Fit the models and write the weights into the package."""
    bank = load_bank()
    examples = list(labeled_examples(bank, held_out=False))
    own = card_examples(bank, dict.fromkeys(example.question for example in examples))
    topic, points, wrongs = tables([*examples, *own, *junk_examples(examples)])
    data: dict[str, object] = {}
    for key, table, names, false_share in (
        ("topic", topic.select(topic.weights != _OWN_WEIGHT), ANSWER_FEATURES, None),
        ("points", points.select(points.weights != _JUNK_WEIGHT), FEATURES, FALSE_SHARE),
        ("misconceptions", wrongs, WRONG_FEATURES, _FALSE_WRONGS),
    ):
        even = np.ones(len(table.labels)) if key == "topic" else table.weights
        beta = fit_logistic(table.rows, table.labels, even)
        data[key] = {name: round(float(b), 4) for name, b in zip((*names, "intercept"), beta, strict=True)}
        if false_share is not None:
            typed = table.weights == 1.0
            p = cross_validated(table)[typed]
            data[f"propose_{key}"] = round(threshold(p, table.labels[typed], false_share), 3)
    FILE.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print({key: value for key, value in data.items() if key.startswith("propose")})


if __name__ == "__main__":
    main()
