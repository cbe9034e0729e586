"""Personal weights: the trainer's formulas, what it learns, and when weights are taken."""

import random
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.models.model import FSRS_6_WEIGHTS as DEFAULT_WEIGHTS
from quizapp.scheduling.models.model import FSRS_7_WEIGHTS, Memory, MemoryModel
from quizapp.scheduling.models.scheduler import Scheduler
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock, moment
from quizapp.scheduling.weights import fit, fsrs7_trainer, trainer
from quizapp.scheduling.weights.review_history import HistoryStep
from quizapp.store import Store
from tests.scheduling.study_kit import MORNING, simple_bank

pytestmark = pytest.mark.slow

# a learner who forgets much faster than the defaults expect
FORGETFUL = MemoryModel(weights=(0.1, 0.2, 0.4, 1.0, *DEFAULT_WEIGHTS[4:8], 0.6, *DEFAULT_WEIGHTS[9:]))


def history(rng: random.Random, truth: MemoryModel, length: int) -> list[HistoryStep]:
    """Reviews whose outcome follows from a true model."""
    scheduler, memory, day = Scheduler(truth), Memory(), 1
    found = []
    for index in range(length):
        elapsed = rng.choice((0, 1, 2, 4, 9, 20)) if index else 0
        day += elapsed
        known = scheduler.retrievability(memory, elapsed) if index else 0.6
        rating = rng.choices((2, 3, 4), (1, 6, 1))[0] if rng.random() < known else 1
        memory = scheduler.review(memory, rating, day)
        found.append(HistoryStep(elapsed, rating, True, float(elapsed)))
    return found


def fill(folder: Path, cards: int, length: int) -> Study:
    rng = random.Random(4)
    study = Study(simple_bank(cards), Store.open(folder / "quizapp.db"))
    drafts = []
    for number in range(cards):
        when = MORNING + timedelta(days=number % 60, minutes=number)
        for step in history(rng, FORGETFUL, length):
            when += timedelta(days=step.elapsed, seconds=40)
            drafts.append(
                Draft(
                    EventType.ANSWER, moment(when, 4), card=f"q{number}", rating=step.rating, source="drill"
                )
            )
    study.store.append(*sorted(drafts, key=lambda draft: draft.moment))
    return study


def test_trainer_predicts_what_the_scheduler_predicts() -> None:
    rng = random.Random(1)
    histories = [history(rng, FORGETFUL, 12) for _ in range(40)]
    elapsed, ratings, mask = trainer.tables(histories)
    assert mask.all()
    weights = torch.tensor(DEFAULT_WEIGHTS, dtype=torch.float64)
    found = trainer.predictions(weights, elapsed.double(), ratings.double())
    scheduler = Scheduler()
    for row, steps in zip(found, histories, strict=True):
        memory, day = Memory(), 1
        for index, step in enumerate(steps):
            day += step.elapsed
            if index:
                expected = scheduler.retrievability(memory, step.elapsed)
                assert float(row[index - 1]) == pytest.approx(expected, rel=1e-6)
            memory = scheduler.review(memory, step.rating, day)


@pytest.mark.parametrize("extra", [False, True])
def test_weights_of_a_forgetful_learner_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: bool
) -> None:
    if extra:
        pytest.importorskip("fsrs_rs_python")
    else:
        monkeypatch.setattr(fit, "find_spec", lambda name: name == "torch")
    with fill(tmp_path, 150, 8) as study:
        found = study.fit_weights()
        assert found.trainer == ("fsrs-rs" if extra else "torch")
        assert found.adopted
        assert found.loss_after < found.loss_before - 0.005
        assert study.scheduler.model.weights == found.weights
        assert study.model != "FSRS-6/default"
        live = study.store.tables.snapshot()
        study.store.rebuild()
        assert study.store.tables.snapshot() == live
    with Study(simple_bank(1), Store.open(tmp_path / "quizapp.db")) as study:
        assert study.scheduler.model.weights == found.weights
        study.reset_weights()
        assert study.model == "FSRS-6/default"


def test_new_weights_change_stability_but_not_the_promised_date(tmp_path: Path) -> None:
    with Study(simple_bank(1), Store.open(tmp_path / "quizapp.db")) as study:
        study.answer("q0", 4)
        before = study.card("q0")
        data = {"model": "FSRS-6", "weights": list(FORGETFUL.weights)}
        study.store.append(Draft(EventType.SETTINGS, study.now(), data=data))
        after = study.card("q0")
        assert after.due == before.due
        assert (before.stability, after.stability) == (DEFAULT_WEIGHTS[3], 1.0)
        assert study.previews("q0")


def test_too_few_reviews_change_nothing(tmp_path: Path) -> None:
    with fill(tmp_path, 5, 5) as study:
        found = study.fit_weights()
        assert not found.adopted
        assert "400 are needed" in found.reason
        assert study.model == "FSRS-6/default"


def test_weights_that_predict_worse_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "find_spec", lambda name: name == "torch")
    monkeypatch.setattr(trainer, "train", lambda *_: [*[50.0] * 4, *DEFAULT_WEIGHTS[4:]])
    monkeypatch.setattr(fsrs7_trainer, "train", lambda *_: [*[50.0] * 4, *FSRS_7_WEIGHTS[4:]])
    with fill(tmp_path, 150, 8) as study:
        found = study.fit_weights()
        assert not found.adopted
        assert found.loss_after == found.loss_before
        assert study.model == "FSRS-6/default"


def test_weights_that_another_process_takes_hold_here_too(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with (
        Study(simple_bank(5), Store.open(tmp_path / "quizapp.db"), clock=clock) as here,
        Study(simple_bank(5), Store.open(tmp_path / "quizapp.db"), clock=clock) as there,
    ):
        here.answer("q0", 3)
        data = {"model": "FSRS-6", "weights": list(FORGETFUL.weights)}
        there.store.append(Draft(EventType.SETTINGS, there.now(), data=data))
        here.answer("q1", 4)
        assert here.model == there.model != "FSRS-6/default"
        assert here.card("q1").stability == FORGETFUL.weights[3]
        live = here.store.tables.snapshot()
        here.store.rebuild()
        assert here.store.tables.snapshot() == live
