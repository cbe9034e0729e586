"""Turns features into probabilities: three logistic models with stored weights.

``fitted/weights.json`` holds them and the thresholds; ``python -m tools.marking.fit_weights`` makes it from
the labeled answers to the questions that are not held out.
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
# Of the words of an answer, the share that the card supports: below the first it is the answer to another
# card of the same form, from the second on it is one to this card. Of 49 incidents, nine of ten answers to
# another have at most 0.55; right answers in other words, whole or in part, have 0.57 and more.
_ANOTHER_CARD, _THIS_CARD = 0.5, 0.62


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

    data = json.loads(
        resources.files(__package__).joinpath("fitted/weights.json").read_text(encoding="utf-8")
    )

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


def probabilities(model: Model, measured: "Featured", *, of_a_form: bool = False) -> Probabilities:
    """Judge the features of an answer. What hardly speaks of the card is improbable throughout.

    With ``of_a_form`` many cards share words, so that the answer to another one must be told apart.
    """
    from quizapp.bank.meaning.features import ANSWER_FEATURES

    topic = float(model.topic.probabilities(measured.answer[None, :])[0])
    on_topic = min(1.0, topic / _OFF_TOPIC)
    if of_a_form:
        supported = float(measured.answer[ANSWER_FEATURES.index("supported")])
        on_topic *= min(1.0, max(0.0, (supported - _ANOTHER_CARD) / (_THIS_CARD - _ANOTHER_CARD)))
    return Probabilities(
        (model.points.probabilities(measured.points) * on_topic).tolist(),
        (model.wrongs.probabilities(measured.wrongs) * on_topic).tolist(),
    )
