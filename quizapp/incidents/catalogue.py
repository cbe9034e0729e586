"""The stored run of every incident: its cause, its set-up and the same set-up without the fault."""

from dataclasses import dataclass, field
from typing import Any

from quizapp.incidents.faults import FAULTS
from quizapp.incidents.readings import Case
from quizapp.incidents.setups import BASELINE


@dataclass(frozen=True, slots=True)
class Stored:
    """``cause`` planted on the baseline with ``extra`` changes, at ``seed``."""

    cause: str
    seed: int
    extra: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)  # how a false alarm's reference run differs

    def case(self, cause: str = "") -> Case:
        """The run; with another ``cause`` the same set-up broken in that way, compared with the same."""
        base = BASELINE.but(seed=self.seed, **self.extra)
        own = FAULTS[self.cause]
        if not cause:
            return Case(own.broken(base), own.healthy(base).but(**self.reference))
        other, sound = FAULTS[cause], own.healthy(base)
        return Case(other.broken(sound), other.healthy(sound))


RUNS: dict[str, Stored] = {
    "double-softmax": Stored("double-softmax", 0),
    "missing-zero-grad": Stored("missing-zero-grad", 1),
    "smoothing-floor-false-alarm": Stored("no-fault", 2, {"loss": "smoothed"}, {"loss": "cross-entropy"}),
}
