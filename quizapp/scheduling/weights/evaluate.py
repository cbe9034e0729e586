"""How well a memory model predicts reviews, and which of two models predicts them better.

The measures are those of the public benchmark (srs-benchmark): log loss, RMSE over bins of similar reviews,
and the area under the ROC curve.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log, sqrt
from typing import NamedTuple

from quizapp.scheduling.models.model import MemoryModel, ModelName
from quizapp.scheduling.planner.fsrs_math import plan_formulas
from quizapp.scheduling.weights.review_history import History

_EDGE = 1e-4  # a prediction is never surer than this, as in the benchmark
SURE_ERRORS = 2.0
"""How many standard errors a model must be ahead before it replaces the one in use."""


class Prediction(NamedTuple):
    """A predicted review: the chance of recall, whether it was recalled, and where the card stood.

    ``same_day`` tells whether the review before was on the same study day; ``days`` is the time since then,
    ``reviews`` and ``lapses`` count what came before.
    """

    chance: float
    recalled: bool
    same_day: bool
    days: float
    reviews: int
    lapses: int

    @property
    def loss(self) -> float:
        """The log loss of this review."""
        return -log(self.chance if self.recalled else 1 - self.chance)


def predictions(model: MemoryModel, histories: Iterable[History]) -> list[Prediction]:
    """What a model predicts for the reviews kept from training, the first one of each card left out.

    FSRS-6 learns from study days; for a review on the same day its curve is read at the hour.
    """
    formulas = plan_formulas(model)
    real_time = model.name is ModelName.FSRS_7
    found = []
    for history in histories:
        memory = formulas.first(history[0].rating) if history else ()
        lapses = int(bool(history) and history[0].rating == 1)
        for index, step in enumerate(history[1:], 1):
            passed = step.days if real_time else step.elapsed
            if not step.trained:
                chance = formulas.recall(memory, passed or step.days)
                chance = min(max(chance, _EDGE), 1 - _EDGE)
                found.append(Prediction(chance, step.rating > 1, not step.elapsed, step.days, index, lapses))
            memory = formulas.after(memory, passed, step.rating)
            lapses += step.rating == 1
    return found


def log_loss(found: Sequence[Prediction]) -> float:
    """Mean log loss; 0 without predictions."""
    return sum(each.loss for each in found) / len(found) if found else 0.0


def rmse_bins(found: Sequence[Prediction]) -> float:
    """Root of the mean squared gap between predicted and actual recall, over bins of similar reviews.

    Bins are by time passed, reviews before, and lapses before, each on a logarithmic scale.
    """
    bins: dict[tuple[float, int, int], list[Prediction]] = defaultdict(list)
    for each in found:
        passed = round(2.48 * 3.62 ** floor(log(max(each.days, 1e-4)) / log(3.62)), 4)
        bins[passed, _scale(each.reviews, 1.89), _scale(each.lapses, 1.73)].append(each)
    total = sum(
        len(group) * (sum(p.chance - p.recalled for p in group) / len(group)) ** 2 for group in bins.values()
    )
    return sqrt(total / len(found)) if found else 0.0


def _scale(count: int, base: float) -> int:
    return floor(log(count) / log(base)) if count > 0 else -1


def auc(found: Sequence[Prediction]) -> float:
    """The chance that a recalled review was given a higher prediction than a forgotten one; ties are half."""
    ranks: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for each in found:
        ranks[each.chance][each.recalled] += 1
    below = wins = recalled = 0.0
    for chance in sorted(ranks):
        lost, won = ranks[chance]
        wins += won * (below + lost / 2)
        below += lost
        recalled += won
    return wins / (below * recalled) if below and recalled else 0.5


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """FSRS-6 against FSRS-7 on the same reviews, none of which either was fitted to.

    Log losses by model: over all ``reviews``, over those of later days, and over those of the same day.
    ``ahead`` is how much lower the mean loss of FSRS-7 is, and ``error`` the standard error of that;
    ``ahead_later`` and ``error_later`` are the same over the reviews of later days.
    """

    reviews: int
    same_day_reviews: int
    losses: dict[str, float]
    later: dict[str, float]
    same_day: dict[str, float]
    ahead: float
    error: float
    ahead_later: float
    error_later: float

    def better(self, used: ModelName) -> ModelName:
        """The model to use from now on, where ``used`` is the present one.

        The other model must be ahead by two standard errors over all reviews, and must not be behind by one
        over those of later days, because only they decide intervals.
        """
        sign = 1 if used is ModelName.FSRS_6 else -1
        surely = sign * self.ahead > SURE_ERRORS * self.error
        harmless = sign * self.ahead_later > -self.error_later
        if not (surely and harmless):
            return used
        return ModelName.FSRS_7 if used is ModelName.FSRS_6 else ModelName.FSRS_6

    def sentence(self, used: str) -> str:
        """What the comparison says, for the statistics."""
        six, seven = self.losses[ModelName.FSRS_6], self.losses[ModelName.FSRS_7]
        ahead = ModelName.FSRS_7 if seven < six else ModelName.FSRS_6
        behind = ModelName.FSRS_6 if ahead is ModelName.FSRS_7 else ModelName.FSRS_7
        clear = abs(self.ahead) > SURE_ERRORS * self.error
        verdict = f"{ahead} predicted them better than {behind}" if clear else f"{ahead} is ahead by chance"
        return (
            f"On your latest {self.reviews} reviews, to which neither was fitted, {verdict} "
            f"(log loss {min(six, seven):.3f} and {max(six, seven):.3f}); {used} is in use."
        )

    def as_json(self) -> dict[str, object]:
        """The object in the log and in ``stats --json``."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, document: object) -> "ModelComparison | None":
        """Read `as_json`; None where it is not one, as in the log of a newer program."""
        try:
            assert isinstance(document, dict)
            known = cls(**{name: document[name] for name in cls.__slots__})
            for table in (known.losses, known.later, known.same_day):
                assert all(type(table[name]) in {int, float} for name in ModelName)
            assert all(type(getattr(known, name)) in {int, float} for name in ("reviews", "ahead", "error"))
        except (AssertionError, KeyError, TypeError):
            return None
        return known


def compare(six: Sequence[Prediction], seven: Sequence[Prediction]) -> ModelComparison:
    """Compare what FSRS-6 and FSRS-7 predicted for the same reviews, in the same order."""
    pairs = list(zip(six, seven, strict=True))
    later = [pair for pair in pairs if not pair[0].same_day]
    same = [pair for pair in pairs if pair[0].same_day]

    def losses(part: Sequence[tuple[Prediction, Prediction]]) -> dict[str, float]:
        return {
            ModelName.FSRS_6.value: round(log_loss([pair[0] for pair in part]), 6),
            ModelName.FSRS_7.value: round(log_loss([pair[1] for pair in part]), 6),
        }

    ahead, error = _mean_and_error([one.loss - other.loss for one, other in pairs])
    ahead_later, error_later = _mean_and_error([one.loss - other.loss for one, other in later])
    return ModelComparison(
        len(pairs),
        len(same),
        losses(pairs),
        losses(later),
        losses(same),
        ahead,
        error,
        ahead_later,
        error_later,
    )


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return 0.0, 0.0
    mean = sum(values) / len(values)
    spread = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return round(mean, 6), round(sqrt(spread / len(values)), 6)
