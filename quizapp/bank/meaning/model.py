"""Turns features into probabilities: three logistic models with stored weights.

``weights.json`` holds them and the thresholds; ``python -m tools.marking.fit_weights`` makes it from the
labeled answers to the questions that are not held out.
"""

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from quizapp.bank.meaning.features import Featured

    Floats = NDArray[np.floating[Any]]


_OFF_TOPIC = 0.3  # the probability of being on topic below which everything becomes less probable


class Logistic(NamedTuple):
    """Weights by feature, and the intercept."""

    weights: "Floats"
    intercept: float

    def probabilities(self, rows: "Floats") -> "Floats":
        """The probability of each row (rows x features)."""
        import numpy as np

        scores = np.clip(rows @ self.weights + self.intercept, -30, 30)
        p: Floats = 1 / (1 + np.exp(-scores))
        return p


class Model(NamedTuple):
    """The models of key points and of misconceptions, and from which probability each is proposed.

    ``topic`` is the probability that an answer speaks of the card at all.
    """

    topic: Logistic
    points: Logistic
    wrongs: Logistic
    propose: float
    propose_wrong: float


@cache
def load_model() -> Model:
    """The model of the package."""
    import numpy as np

    from quizapp.bank.meaning.features import ANSWER_FEATURES, FEATURES, WRONG_FEATURES

    data = json.loads(resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))

    def logistic(name: str, features: tuple[str, ...]) -> Logistic:
        weights = data[name]
        return Logistic(
            np.array([weights.get(feature, 0.0) for feature in features], np.float32), weights["intercept"]
        )

    return Model(
        logistic("topic", ANSWER_FEATURES),
        logistic("points", FEATURES),
        logistic("misconceptions", WRONG_FEATURES),
        data["propose_points"],
        data["propose_misconceptions"],
    )


class Probabilities(NamedTuple):
    """The probabilities of an answer's key points and misconceptions."""

    points: list[float]
    wrongs: list[float]


def probabilities(model: Model, measured: "Featured") -> Probabilities:
    """Judge the features of an answer. What hardly speaks of the card is improbable throughout."""
    topic = float(model.topic.probabilities(measured.answer[None, :])[0])
    on_topic = min(1.0, topic / _OFF_TOPIC)
    return Probabilities(
        (model.points.probabilities(measured.points) * on_topic).tolist(),
        (model.wrongs.probabilities(measured.wrongs) * on_topic).tolist(),
    )
