"""Personal weights: FSRS-6 fitted to the learner's own reviews.

Weights are trained on the earlier four fifths of the reviews and adopted only if they predict the last
fifth better than the present ones. With the extra ``fast`` the trainer is ``fsrs-rs-python``, else
the small one in ``quizapp.scheduling.weights.trainer``.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quizapp.scheduling.cards import NEW, ReviewRow
from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.models.model import (
    FSRS_6_WEIGHTS,
    Memory,
    MemoryModel,
    ModelName,
    check_weights,
)
from quizapp.scheduling.models.scheduler import Scheduler
from quizapp.util.installation import require_torch
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

TRAINED_SHARE = 0.8
BETTER_BY = 1e-4  # log loss; less is noise


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One review of a history: study days since the one before, rating, and whether it is trained on."""

    elapsed: int
    rating: int
    trained: bool


@dataclass(frozen=True, slots=True)
class FitResult:
    """The result of a fit; log losses are on the later reviews, which were not trained on."""

    adopted: bool
    reason: str
    reviews: int
    loss_before: float | None = None
    loss_after: float | None = None
    weights: tuple[float, ...] = ()
    trainer: str = ""


def fit(study: "Study", *, least: int) -> FitResult:
    """Fit, compare, and adopt the weights if they are better. See ``Study.fit_weights``."""
    reviews = study.store.tables.reviews()
    spaced = [review for review in reviews if review.elapsed > 0]
    if len(spaced) < least:
        return FitResult(
            False, f"{plural(len(spaced), 'review')} on later days, {least} are needed", len(spaced)
        )
    cut = sorted(review.time for review in spaced)[int(len(spaced) * TRAINED_SHARE)]
    histories = split(reviews, cut)
    trainer = find_trainer()
    weights = check_weights(ModelName.FSRS_6, _fast(histories) if trainer == "fsrs-rs" else _small(histories))
    present = study.reducer.models[ModelName.FSRS_6]
    before = log_loss(present, histories)
    after = log_loss(MemoryModel(ModelName.FSRS_6, weights), histories)
    adopted = after < before - BETTER_BY
    if adopted:
        details = {
            "model": ModelName.FSRS_6,
            "weights": list(weights),
            "reviews": len(spaced),
            "trainer": trainer,
        }
        study.store.append(Draft(EventType.SETTINGS, study.now(), model=present.version, data=details))
    reason = "they predict the latest reviews better" if adopted else "the present weights predict as well"
    return FitResult(adopted, reason, len(spaced), before, after, weights, trainer)


def find_trainer() -> str:
    """The trainer to fit with: "fsrs-rs" if it is installed, otherwise "torch".

    Raises `PartMissing` if neither is.
    """
    if find_spec("fsrs_rs_python"):
        return "fsrs-rs"
    require_torch("Fitting the memory model to your reviews")
    return "torch"


def reset(study: "Study") -> None:
    """Go back to the published weights of the model in use."""
    default = MemoryModel.default(study.scheduler.model.name)
    kind = EventType.SETTINGS if default.name is ModelName.FSRS_6 else EventType.MODEL
    details = {"model": default.name, "weights": list(default.weights)}
    study.store.append(Draft(kind, study.now(), model=study.model, data=details))


def split(reviews: Iterable[ReviewRow], cut: int) -> list[list[HistoryStep]]:
    """The histories of the cards; reviews from ``cut`` (UTC ms) on are kept from training."""
    histories: dict[str, list[HistoryStep]] = {}
    done: list[list[HistoryStep]] = []
    for review in reviews:
        if review.state == NEW:  # the first review, or one after "treat as new"
            if review.card in histories:
                done.append(histories[review.card])
            histories[review.card] = []
        histories.setdefault(review.card, []).append(
            HistoryStep(review.elapsed, review.rating, review.time < cut)
        )
    return [*done, *histories.values()]


def log_loss(model: MemoryModel, histories: Iterable[Sequence[HistoryStep]]) -> float:
    """Mean log loss of the predictions for the reviews kept from training, same-day ones left out."""
    scheduler = Scheduler(model)
    losses = []
    for history in histories:
        memory, day = Memory(), 1
        for index, step in enumerate(history):
            day += step.elapsed
            if index and step.elapsed and not step.trained:
                chance = scheduler.retrievability(memory, step.elapsed)
                chance = min(max(chance, 1e-6), 1 - 1e-6)
                losses.append(-math.log(chance if step.rating > 1 else 1 - chance))
            memory = scheduler.review(memory, step.rating, day)
    return sum(losses) / len(losses)


def _small(histories: Sequence[Sequence[HistoryStep]]) -> Sequence[float]:
    from quizapp.scheduling.weights import trainer  # imports torch, 1 s and 200 MB

    return trainer.train([[step for step in history if step.trained] for history in histories])


def _fast(histories: Sequence[Sequence[HistoryStep]]) -> Sequence[float]:
    import fsrs_rs_python

    items = []
    for history in histories:
        reviews = []
        for index, step in enumerate(history):
            if not step.trained:
                break
            reviews.append(fsrs_rs_python.FSRSReview(step.rating, step.elapsed if index else 0))
            if index and step.elapsed:
                items.append(fsrs_rs_python.FSRSItem(list(reviews)))
    weights = fsrs_rs_python.FSRS(list(FSRS_6_WEIGHTS)).compute_parameters(items)
    return [float(value) for value in weights]
