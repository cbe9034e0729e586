"""How near two concepts are: a latent semantic space fitted on the bank's own text.

``fitted/space.npz`` holds it; ``python -m tools.marking.fit_space`` makes it. A concept that the bank does
not use has no vector and the weight of a rare word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

_UNKNOWN_WEIGHT = 1.0  # relative to the rarest concept of the bank
_NUMBER_WEIGHT = 0.6


@dataclass(frozen=True)
class Space:
    """Unit vectors (concepts x dimensions) and weights (inverse document frequency, 0 to 1) by concept."""

    index: dict[str, int]
    vectors: "Floats"
    weights: "Floats"

    def rows(self, names: Sequence[str]) -> "Floats":
        """The vectors of concepts, zeros where a concept is unknown (names x dimensions)."""
        import numpy as np

        places = np.fromiter((self.index.get(name, -1) for name in names), np.int64, len(names))
        rows = self.vectors[places]
        rows[places < 0] = 0
        return rows

    def weight(self, names: Sequence[str]) -> "Floats":
        """How much each concept says: rare ones more (names)."""
        import numpy as np

        def one(name: str) -> float:
            place = self.index.get(name)
            if place is not None:
                return float(self.weights[place])
            return _NUMBER_WEIGHT if name.startswith("#") else _UNKNOWN_WEIGHT

        return np.fromiter(map(one, names), np.float32, len(names))


@cache
def load_space() -> Space:
    """The space of the package. Costs numpy's import and some milliseconds, once."""
    import numpy as np

    with resources.files(__package__).joinpath("fitted/space.npz").open("rb") as file:
        data = np.load(file, allow_pickle=False)
        names = bytes(data["names"]).decode().split("\n")
        vectors = data["vectors"].astype(np.float32)
        weights = data["weights"].astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return Space({name: place for place, name in enumerate(names)}, vectors, weights)
