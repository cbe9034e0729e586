"""Fits both memory models to the learner's own reviews, and chooses the one that predicts them better.

Weights are trained on the earlier four fifths of the reviews. They are adopted, and a model replaces the
other, only if they predict the last fifth better, to which nothing was fitted. FSRS-6 is trained by
``fsrs-rs-python`` if the extra ``fast`` is installed, otherwise by the small trainer beside this module, and
FSRS-7 always by its own. Without torch and the extra, the models are compared with the weights they have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.models.model import (
    FSRS_6_WEIGHTS,
    MemoryModel,
    ModelName,
    check_weights,
)
from quizapp.scheduling.weights.evaluate import (
    ModelComparison,
    Prediction,
    compare,
    log_loss,
    predictions,
)
from quizapp.scheduling.weights.review_history import History, split, trained_part
from quizapp.util.installation import require_torch
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

TRAINED_SHARE = 0.8
BETTER_BY = 1e-4  # log loss; less is noise
FAST, TORCH = "fsrs-rs", "torch"


@dataclass(frozen=True, slots=True)
class FitResult:
    """The result of a fit; log losses are on the later reviews, which were not trained on.

    ``adopted`` tells whether the model in use or its weights changed. ``weights`` and ``model`` are those in
    use afterwards, ``trainer`` is what trained them (empty: nothing could).
    """

    adopted: bool
    reason: str
    reviews: int
    loss_before: float | None = None
    loss_after: float | None = None
    weights: tuple[float, ...] = ()
    trainer: str = ""
    model: ModelName = ModelName.FSRS_6
    comparison: ModelComparison | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A model, what it predicts for the reviews kept from training, and whether its weights are new."""

    model: MemoryModel
    predictions: Sequence[Prediction]
    new: bool = False

    @property
    def loss(self) -> float:
        return log_loss(self.predictions)


def fit(study: "Study", *, least: int) -> FitResult:
    """Fit, compare, and adopt what is better. See ``Study.fit_weights``."""
    reviews = study.store.tables.reviews()
    spaced = [review for review in reviews if review.elapsed > 0]
    if len(spaced) < least:
        return FitResult(
            False, f"{plural(len(spaced), 'review')} on later days, {least} are needed", len(spaced)
        )
    cut = sorted(review.time for review in spaced)[int(len(spaced) * TRAINED_SHARE)]
    histories = split(reviews, cut)
    trainers = find_trainers()
    known = study.reducer.models
    best = {name: _best(known[name], histories, trainers.get(name, "")) for name in ModelName}
    comparison = compare(best[ModelName.FSRS_6].predictions, best[ModelName.FSRS_7].predictions)
    used = study.reducer.chosen
    chosen = comparison.better(used)
    before, after = log_loss(predictions(known[used], histories)), best[chosen].loss
    adopted = chosen is not used or best[chosen].new
    _record(study, best, chosen, comparison, len(spaced))
    if chosen is not used:
        reason = f"{chosen} predicts the latest reviews better than {used}"
    elif adopted:
        reason = "the new weights predict the latest reviews better"
    else:
        reason = "the present weights predict as well"
    weights, trainer = best[chosen].model.weights, trainers.get(chosen, "")
    return FitResult(adopted, reason, len(spaced), before, after, weights, trainer, chosen, comparison)


def _best(present: MemoryModel, histories: Sequence[History], trainer: str) -> _Candidate:
    """The present weights, or newly trained ones if they predict better."""
    now = _Candidate(present, predictions(present, histories))
    if not trainer:
        return now
    trained = MemoryModel(present.name, _train(present, histories, trainer))
    later = _Candidate(trained, predictions(trained, histories), new=True)
    return later if later.loss < now.loss - BETTER_BY else now


def _record(
    study: "Study",
    best: dict[ModelName, _Candidate],
    chosen: ModelName,
    comparison: ModelComparison,
    reviews: int,
) -> None:
    """Append new weights of FSRS-6, and the choice with its reasons, to the log."""
    weights = {name: best[name].model.weights for name in ModelName}
    drafts = [choice(study, chosen, weights, reviews=reviews, comparison=comparison.as_json())]
    six = best[ModelName.FSRS_6]
    if six.new:
        # For older programs on other devices, which know no choice. It comes second, because it then changes
        # nothing more and the cards are derived again only once.
        details = {"model": ModelName.FSRS_6, "weights": list(six.model.weights), "reviews": reviews}
        drafts.append(Draft(EventType.SETTINGS, study.now(), model=study.model, data=details))
    study.store.append(*drafts)


def choice(
    study: "Study", chosen: ModelName, weights: Mapping[ModelName, Sequence[float]], **details: object
) -> Draft:
    """The event that a model is used from now on, with the weights of both."""
    by_name = {name.value: list(values) for name, values in weights.items()}
    data = {"model": chosen.value, "weights": by_name, **details}
    return Draft(EventType.MODEL, study.now(), model=study.model, data=data)


def find_trainers() -> dict[ModelName, str]:
    """What can train each model here; a model that nothing can train is missing."""
    torch = dict.fromkeys(ModelName, TORCH) if find_spec("torch") else {}
    return torch | ({ModelName.FSRS_6: FAST} if find_spec("fsrs_rs_python") else {})


def find_trainer() -> str:
    """The trainer of FSRS-6: "fsrs-rs" if it is installed, otherwise "torch".

    Raises `PartMissing` if neither is.
    """
    if find_spec("fsrs_rs_python"):
        return FAST
    require_torch("Fitting the memory model to your reviews")
    return TORCH


def last_fit(study: "Study") -> tuple[int, ModelComparison | None]:
    """The reviews on later days that the last fit saw, and what it found; (0, None) before the first."""
    for event in reversed(study.store.log.standing(EventType.MODEL)):
        details = event.details
        comparison = ModelComparison.from_json(details.get("comparison"))
        if comparison is not None:
            return int(details.get("reviews") or 0), comparison
    return 0, None


def reset(study: "Study") -> None:
    """Go back to the published weights of the model in use."""
    default = MemoryModel.default(study.scheduler.model.name)
    weights = {name: model.weights for name, model in study.reducer.models.items()} | {
        default.name: default.weights
    }
    drafts = [choice(study, study.reducer.chosen, weights)]
    if default.name is ModelName.FSRS_6:  # for older programs, as in `_record`
        details = {"model": default.name, "weights": list(default.weights)}
        drafts.append(Draft(EventType.SETTINGS, study.now(), model=study.model, data=details))
    study.store.append(*drafts)


def _train(present: MemoryModel, histories: Sequence[History], trainer: str) -> tuple[float, ...]:
    if trainer == FAST:
        return check_weights(present.name, _fast(histories))
    from quizapp.scheduling.weights import fsrs7_trainer  # imports torch, 1 s and 200 MB
    from quizapp.scheduling.weights import trainer as fsrs6_trainer

    train = fsrs7_trainer.train if present.name is ModelName.FSRS_7 else fsrs6_trainer.train
    return check_weights(present.name, train(trained_part(histories), present.weights))


def _fast(histories: Sequence[History]) -> Sequence[float]:
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
