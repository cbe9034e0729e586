"""Which memory model schedules: chosen by what each predicted on the learner's own log."""

import json
import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from quizapp import paths
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.events import Draft, Event, EventType
from quizapp.scheduling.models.fsrs7 import DAY_MS, Fsrs7
from quizapp.scheduling.models.model import FSRS_7_WEIGHTS, Memory, MemoryModel, ModelName, check_weights
from quizapp.scheduling.models.scheduler import Scheduler
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock, moment
from quizapp.scheduling.weights import background, fit, fsrs7_trainer
from quizapp.scheduling.weights.evaluate import (
    ModelComparison,
    Prediction,
    auc,
    compare,
    log_loss,
    predictions,
    rmse_bins,
)
from quizapp.scheduling.weights.review_history import HistoryStep, split
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.scheduling.study_kit import MORNING, simple_bank, study

pytestmark = pytest.mark.slow
# a learner who forgets sooner than the published weights expect
FORGETFUL = [
    *(weight / 10 for weight in FSRS_7_WEIGHTS[:4]),
    *FSRS_7_WEIGHTS[4:7],
    0.6,
    *FSRS_7_WEIGHTS[8:15],
    0.3,
    *FSRS_7_WEIGHTS[16:],
]


def fill_with_seven(folder: Path, cards: int, length: int, truth=FORGETFUL, **settings) -> Study:
    """A log of a learner whose memory is that of FSRS-7, with reviews on the same day."""
    rng, learner = random.Random(8), Fsrs7(truth)
    drafts = []
    for number in range(cards):
        when, trace = MORNING + timedelta(days=number % 40, minutes=number), None
        memory, scheduler = Memory(), Scheduler()
        for _ in range(length):
            days = rng.choice((10 / 1440, 0.2, 1.1, 3, 8, 30, 90)) if trace else 0.0
            when += timedelta(days=days)
            chance = learner.recall(trace, days) if trace else 0.6
            rating = rng.choice((2, 3, 3, 3, 4)) if rng.random() < chance else 1
            trace = learner.after(trace, days, rating) if trace else learner.first(rating)
            at = moment(when, 4)
            outcome = scheduler.outcomes(
                memory, at.day, card=f"q{number}", repetition=0, retention=0.9, most=36500
            )[Rating(rating)]
            memory = outcome.memory
            drafts.append(
                Draft(
                    EventType.ANSWER,
                    at,
                    f"q{number}",
                    rating=rating,
                    interval=outcome.interval,
                    source="drill",
                )
            )
    made = Study(
        simple_bank(cards),
        Store.open(folder / "quizapp.db"),
        Settings(**settings),
        FixedClock(MORNING + timedelta(days=2000)),
    )
    made.store.append(*sorted(drafts, key=lambda draft: draft.moment))
    return made


@pytest.fixture
def without_trainers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "find_trainers", dict)


def model_events(learner: Study) -> list[Event]:
    return learner.store.log.standing(EventType.MODEL)


@pytest.mark.usefixtures("without_trainers")
def test_the_model_that_predicts_better_is_taken_and_dates_stay(tmp_path: Path) -> None:
    with fill_with_seven(tmp_path, 120, 10) as learner:
        dates = {row.card: (row.due, row.interval) for row in learner.cards()}
        assert learner.model == "FSRS-6/default"
        found = learner.fit_weights()
        assert found.adopted
        assert found.trainer == ""
        assert learner.model == "FSRS-7/default"
        assert found.loss_after < found.loss_before
        assert {row.card: (row.due, row.interval) for row in learner.cards()} == dates
        (event,) = model_events(learner)
        assert event.details["model"] == "FSRS-7"
        comparison = learner.stats().comparison
        assert comparison == found.comparison
        assert "FSRS-7 predicted them better than FSRS-6" in comparison.sentence("FSRS-7")
        assert learner.stats().as_json()["comparison"]["losses"] == comparison.losses
        live = learner.store.tables.snapshot()
        learner.store.rebuild()
        assert learner.store.tables.snapshot() == live
        # Nothing is gained by going back, so a second look changes nothing.
        assert not learner.fit_weights().adopted
        assert learner.model == "FSRS-7/default"
    with study(tmp_path, 120) as again:
        assert again.model == "FSRS-7/default"


@pytest.mark.usefixtures("without_trainers")
def test_a_forced_model_stays_whatever_the_comparison_says(tmp_path: Path) -> None:
    with fill_with_seven(tmp_path, 120, 10, memory_model="FSRS-6") as learner:
        assert learner.fit_weights().model is ModelName.FSRS_7
        assert learner.model == "FSRS-6/default"


def test_trained_weights_are_taken_only_where_they_predict_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = {"better": FORGETFUL, "worse": [50.0] * 4 + list(FSRS_7_WEIGHTS[4:])}
    monkeypatch.setattr(fit, "find_trainers", lambda: {ModelName.FSRS_7: fit.TORCH})
    with fill_with_seven(tmp_path, 120, 10) as learner:
        monkeypatch.setattr(fsrs7_trainer, "train", lambda *_: trained["worse"])
        learner.fit_weights()
        assert learner.reducer.models[ModelName.FSRS_7].weights == FSRS_7_WEIGHTS
        monkeypatch.setattr(fsrs7_trainer, "train", lambda *_: trained["better"])
        found = learner.fit_weights()
        assert list(learner.reducer.models[ModelName.FSRS_7].weights) == trained["better"]
        assert found.model is ModelName.FSRS_7
        assert learner.scheduler.model.weights == found.weights
        assert fit.last_fit(learner) == (found.reviews, found.comparison)
        learner.reset_weights()
        assert learner.model == "FSRS-7/default"


def test_the_trainer_of_fsrs_7_predicts_what_the_scheduler_predicts_and_learns() -> None:
    rng, truth = random.Random(2), [*(weight / 3 for weight in FSRS_7_WEIGHTS[:4]), *FSRS_7_WEIGHTS[4:]]
    histories = []
    for _ in range(150):
        trace, steps = None, []
        for _ in range(8):
            days = rng.choice((10 / 1440, 0.3, 1.2, 4, 20)) if trace else 0.0
            chance = Fsrs7(truth).recall(trace, days) if trace else 0.5
            rating = rng.choice((2, 3, 3, 4)) if rng.random() < chance else 1
            trace = Fsrs7(truth).after(trace, days, rating) if trace else Fsrs7(truth).first(rating)
            steps.append(HistoryStep(int(days), rating, True, days))
        histories.append(steps)
    table = fsrs7_trainer.tables(histories)
    published = torch.tensor(FSRS_7_WEIGHTS, dtype=torch.float64)
    rows = fsrs7_trainer.predictions(published, table.days.double(), table.ratings.double())
    for row, steps in zip(rows, histories, strict=True):
        trace = Fsrs7(FSRS_7_WEIGHTS).first(steps[0].rating)
        for chance, step in zip(row.tolist(), steps[1:], strict=True):
            assert chance == pytest.approx(Fsrs7(FSRS_7_WEIGHTS).recall(trace, step.days), rel=1e-6)
            trace = Fsrs7(FSRS_7_WEIGHTS).after(trace, step.days, step.rating)
    kept = [[replace(step, trained=False) for step in steps] for steps in histories]

    def loss(weights) -> float:
        return log_loss(predictions(MemoryModel(ModelName.FSRS_7, tuple(weights)), kept))

    learned = fsrs7_trainer.train(histories)
    assert loss(learned) < loss(FSRS_7_WEIGHTS) - 0.002
    assert check_weights(ModelName.FSRS_7, learned)
    assert fsrs7_trainer.train([], FSRS_7_WEIGHTS) == list(FSRS_7_WEIGHTS)


def test_the_process_changes_the_model_without_a_trainer_and_says_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Deadline and low priority are for a process of its own; here they would stay for all later tests.
    monkeypatch.setattr(background.signal, "alarm", lambda seconds: 0)
    monkeypatch.setattr(background.os, "nice", lambda by: 0)
    monkeypatch.setattr(fit, "find_trainers", dict)
    with fill_with_seven(paths.home(), 120, 10):
        pass
    assert background.main() == 0
    sentence = background.news()
    assert sentence.startswith("FSRS-7 predicts your latest reviews better than FSRS-6")
    assert background.news() == ""
    assert background.main() == 0, "half as many reviews again are not enough"
    with Study.open() as learner:
        assert len(model_events(learner)) == 1


def test_chance_does_not_change_the_model() -> None:
    better = [Prediction(0.9, True, False, 3.0, 2, 0)] * 50 + [Prediction(0.9, False, False, 3.0, 2, 0)] * 5
    worse = [Prediction(0.85, each.recalled, False, 3.0, 2, 0) for each in better]
    close = compare(better, [Prediction(0.9001, p.recalled, False, 3.0, 2, 0) for p in better])
    assert close.better(ModelName.FSRS_6) is ModelName.FSRS_6
    assert close.better(ModelName.FSRS_7) is ModelName.FSRS_7
    assert "by chance" in close.sentence("FSRS-6")
    clear = compare(
        worse, [Prediction(0.98 if p.recalled else 0.4, p.recalled, False, 3, 2, 0) for p in better]
    )
    assert clear.better(ModelName.FSRS_6) is ModelName.FSRS_7
    assert clear.better(ModelName.FSRS_7) is ModelName.FSRS_7


def test_a_model_that_is_better_only_within_a_day_is_not_taken() -> None:
    later = [(0.9, 0.7, True), (0.9, 0.6, True), (0.9, 0.8, True)] * 30
    same = [(0.5, 0.99, True)] * 400
    rows = [(six, seven, recalled, False) for six, seven, recalled in later]
    rows += [(six, seven, recalled, True) for six, seven, recalled in same]
    six = [Prediction(chance, recalled, same_day, 1.0, 2, 0) for chance, _, recalled, same_day in rows]
    seven = [Prediction(chance, recalled, same_day, 1.0, 2, 0) for _, chance, recalled, same_day in rows]
    comparison = compare(six, seven)
    assert comparison.ahead > 2 * comparison.error
    assert comparison.better(ModelName.FSRS_6) is ModelName.FSRS_6


def test_a_comparison_survives_the_log_and_a_strange_one_is_ignored() -> None:
    one = compare(*[[Prediction(0.9, True, True, 1.0, 2, 0), Prediction(0.8, False, False, 1, 2, 0)]] * 2)
    assert ModelComparison.from_json(json.loads(json.dumps(one.as_json()))) == one
    for strange in (None, [], {"reviews": 3}, one.as_json() | {"losses": {"FSRS-8": 1}}):
        assert ModelComparison.from_json(strange) is None


def test_measures_are_those_of_their_definitions() -> None:
    found = [
        Prediction(c, r, False, 2.0, 3, 1) for c, r in ((0.9, True), (0.6, True), (0.7, False), (0.2, False))
    ]
    assert log_loss(found) == pytest.approx(0.5108, abs=1e-4)
    assert auc(found) == 0.75
    assert auc([each._replace(chance=0.5) for each in found]) == 0.5
    assert rmse_bins(found) == pytest.approx(0.1)
    apart = [each._replace(days=2.0 if each.recalled else 200.0) for each in found]
    assert rmse_bins(apart) == pytest.approx((0.5 * 0.25**2 + 0.5 * 0.45**2) ** 0.5)


def test_nothing_of_a_prediction_comes_from_the_reviews_it_predicts() -> None:
    known = [HistoryStep(0, 3, True, 0.0), HistoryStep(1, 3, True, 1.2)]
    for model in (MemoryModel(), MemoryModel.default(ModelName.FSRS_7)):
        (lost,) = predictions(model, [[*known, HistoryStep(4, 1, False, 4.0)]])
        (kept,) = predictions(model, [[*known, HistoryStep(4, 4, False, 4.0)]])
        assert lost.chance == kept.chance
        assert (lost.recalled, kept.recalled) == (False, True)


def test_histories_have_the_time_that_really_passed(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 2, clock=clock) as learner:
        learner.answer("q0", 3)
        clock.forward(minutes=10)
        learner.answer("q0", 3)
        clock.forward(hours=30)
        learner.answer("q0", 1)
        cut = learner.now().time
        (history,) = split(learner.store.tables.reviews(), cut)
    assert [step.days * DAY_MS for step in history] == [0.0, 600_000.0, 30 * 3_600_000.0]
    assert [step.elapsed for step in history] == [0, 0, 1]
    assert [step.trained for step in history] == [True, True, False]
    assert [step.age for step in history] == [0.0, 1.0, 1.0]
