"""Compares the memory models on simulated logs, and measures what fitting them costs.

Each log is cut in time: models are fitted to the first three fifths of its reviews and predict the rest.
"refitted" is fitted again after four fifths, from the weights of the first fit. Logs come from a learner with
the memory of FSRS-6, of FSRS-7, and of ACT-R, a third model that neither resembles, and from a learner who
crams: cards of all three kinds, half of the reviews on the same day. No learner has the published weights.
Nothing here is real people's data: the table shows what the models can and cannot express and what fitting
gains, not which one predicts people better.

The result is printed as a table, or with ``--json`` as JSON.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

from quizapp.bank.model import Bank
from quizapp.scheduling.cards import NEW, REVIEW, ReviewRow
from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.models.model import (
    FSRS_6_WEIGHTS,
    FSRS_7_WEIGHTS,
    MemoryModel,
    ModelName,
    check_weights,
)
from quizapp.scheduling.planner.fsrs_math import PlanFormulas, plan_formulas
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock, moment
from quizapp.scheduling.weights.evaluate import Prediction, auc, log_loss, predictions, rmse_bins
from quizapp.scheduling.weights.review_history import History, HistoryStep, split, trained_part
from quizapp.settings.model import Settings
from quizapp.store import Store

START = datetime(2025, 1, 6, 8, 0, tzinfo=UTC)
MINUTE = 1 / 1440
MOVED = 0.05  # how far one review moves the moving average


class ActR:
    """ACT-R's declarative memory: every presentation leaves a trace that fades by a power of its age."""

    def __init__(self, threshold: float = -2.9, decay: float = 0.35, noise: float = 0.35) -> None:
        self._threshold, self._decay, self._noise = threshold, decay, noise

    def first(self, rating: int) -> tuple[float, ...]:
        """The ages of the traces in days; a forgotten card leaves half a chance of one."""
        return (0.0,) if rating > 1 else ()

    def after(self, memory: tuple[float, ...], elapsed: float, rating: int) -> tuple[float, ...]:
        """All traces are older, and recalling leaves a new one."""
        older = tuple(age + elapsed for age in memory)
        return (*older, 0.0) if rating > 1 or not older else older

    def recall(self, memory: tuple[float, ...], elapsed: float) -> float:
        """A logistic function of the summed traces."""
        if not memory:
            return 0.3
        strength = log(sum(((age + elapsed) * 1440 + 1) ** -self._decay for age in memory))
        return 1 / (1 + exp((self._threshold - strength) / self._noise))


Learner = PlanFormulas | ActR


def seven(**changes: float) -> MemoryModel:
    """FSRS-7 with some weights changed: ``w9=1.0``."""
    weights = list(FSRS_7_WEIGHTS)
    for name, value in changes.items():
        weights[int(name[1:])] = value
    return MemoryModel(ModelName.FSRS_7, tuple(weights))


def six(**changes: float) -> MemoryModel:
    """FSRS-6 with some weights changed."""
    weights = list(FSRS_6_WEIGHTS)
    for name, value in changes.items():
        weights[int(name[1:])] = value
    return MemoryModel(ModelName.FSRS_6, tuple(weights))


LEARNERS: dict[str, tuple[Learner, bool]] = {
    "FSRS-6": (plan_formulas(six(w0=0.12, w2=1.1, w3=4.0, w8=1.4, w20=0.25)), False),
    "FSRS-7": (plan_formulas(seven(w0=0.05, w1=0.8, w2=1.6, w3=5.0, w7=1.4, w15=0.8)), True),
    "ACT-R": (ActR(), True),
}
"""The simulated memories, and whether each counts the time that really passes."""


def review_log(kinds: Sequence[str], reviews: int, same_day: float, seed: int) -> list[ReviewRow]:
    """The reviews of a learner in the order of time; cards take their memory from ``kinds`` in turn.

    Cards come back by a plain rule that no model decides: after minutes when forgotten, after twice the last
    interval and some luck otherwise, and with the chance ``same_day`` later on the same day.
    """
    rng = random.Random(seed)
    rows: list[ReviewRow] = []
    card = 0
    while len(rows) < reviews:
        learner, real_time = LEARNERS[kinds[card % len(kinds)]]
        rows += _card_log(f"card-{card}", learner, real_time, same_day, rng)
        card += 1
    rows.sort(key=lambda row: row.time)
    return [row._replace(seq=number) for number, row in enumerate(rows)]


def _card_log(
    name: str, learner: Learner, real_time: bool, same_day: float, rng: random.Random
) -> Iterable[ReviewRow]:
    when = START + timedelta(days=rng.randint(0, 120), hours=rng.uniform(0, 12))
    memory: tuple[float, ...] = ()
    last, interval = when, 1.0
    for number in range(rng.randint(4, 16)):
        before, now = moment(last, 4), moment(when, 4)
        days, elapsed = (now.time - before.time) / 86_400_000, now.day - before.day
        passed = days if real_time else float(elapsed)
        chance = learner.recall(memory, passed or days) if number else 0.6
        rating = rng.choices((2, 3, 4), (15, 65, 20))[0] if rng.random() < chance else 1
        memory = learner.after(memory, passed, rating) if number else learner.first(rating)
        yield ReviewRow(
            0,
            name,
            now.time,
            now.day,
            rating,
            REVIEW if number else NEW,
            elapsed,
            0.0,
            None,
            9000,
            "drill",
            0,
        )
        last = when
        if rating == 1:
            when, interval = when + timedelta(minutes=rng.uniform(2, 20)), max(1.0, interval / 3)
        elif rng.random() < same_day:
            when += timedelta(hours=rng.choice((0.2, 0.2, 1, 3)))
        else:
            when += timedelta(days=max(1.0, interval * rng.uniform(0.7, 1.5)), hours=rng.uniform(-3, 3))
            interval *= 2.1


LOGS: dict[str, tuple[tuple[str, ...], float]] = {
    "FSRS-6 learner": (("FSRS-6",), 0.15),
    "FSRS-7 learner": (("FSRS-7",), 0.25),
    "ACT-R learner": (("ACT-R",), 0.25),
    "crammer, all three": (("FSRS-6", "FSRS-7", "ACT-R"), 0.5),
}


class Score(NamedTuple):
    """How a model predicted the held-out reviews; the last two are log losses of parts of them."""

    log_loss: float
    rmse_bins: float
    auc: float
    same_day: float
    later: float


def score(found: Sequence[Prediction]) -> Score:
    """The measures of some predictions."""
    parts = [[each for each in found if each.same_day is same] for same in (True, False)]
    figures = (log_loss(found), rmse_bins(found), auc(found), log_loss(parts[0]), log_loss(parts[1]))
    return Score(*(round(value, 4) for value in figures))


@dataclass(frozen=True)
class Cut:
    """The histories of a log with the reviews before a point in time as the trained ones."""

    histories: list[list[HistoryStep]]

    def until(self, later: "Cut") -> list[History]:
        """The histories that ask only for the reviews from this cut until a later one."""
        return [
            [
                replace(step, trained=step.trained or not end.trained)
                for step, end in zip(one, two, strict=True)
            ]
            for one, two in zip(self.histories, later.histories, strict=True)
        ]


def train(model: MemoryModel, cut: Cut) -> MemoryModel:
    """The model with weights fitted to the reviews before the cut, from the weights that it has."""
    from quizapp.scheduling.weights import fsrs7_trainer, trainer

    run = fsrs7_trainer.train if model.name is ModelName.FSRS_7 else trainer.train
    weights = run(trained_part(cut.histories), model.weights)
    return MemoryModel(model.name, check_weights(model.name, weights))


def compare_on(rows: Sequence[ReviewRow]) -> dict[str, Score]:
    """Every model's score on the reviews behind the first cut."""
    cuts = [Cut(split(rows, rows[int(len(rows) * share)].time)) for share in (0.6, 0.8)]
    first, second = cuts
    test = first.histories
    old, new = MemoryModel(), MemoryModel.default(ModelName.FSRS_7)
    fitted = train(new, first)
    again = train(fitted, second)
    refitted = [*predictions(fitted, first.until(second)), *predictions(again, second.histories)]
    return {
        "FSRS-6 published": score(predictions(old, test)),
        "FSRS-6 fitted": score(predictions(train(old, first), test)),
        "FSRS-7 published": score(predictions(new, test)),
        "FSRS-7 fitted": score(predictions(fitted, test)),
        "FSRS-7 refitted": score(refitted),
        "moving average": score(_without_memory(rows, first, MOVED)),
        "constant": score(_without_memory(rows, first, 0.0)),
    }


def _without_memory(rows: Sequence[ReviewRow], cut: Cut, moved: float) -> list[Prediction]:
    """The share recalled so far as the prediction for every review; ``moved`` lets later reviews move it."""
    trained = [step.rating > 1 for history in cut.histories for step in history[1:] if step.trained]
    chance = sum(trained) / len(trained)
    known = sum(step.trained for history in cut.histories for step in history)
    seen: dict[str, list[int]] = {}
    found = []
    for number, row in enumerate(rows):
        ratings = seen.setdefault(row.card, [])
        if number >= known and ratings:
            lapses = sum(rating == 1 for rating in ratings)
            found.append(
                Prediction(
                    chance, row.rating > 1, not row.elapsed, row.elapsed or MINUTE, len(ratings), lapses
                )
            )
            chance += moved * ((row.rating > 1) - chance)
        ratings.append(row.rating)
    return found


def cost_of_fitting(reviews: int) -> dict[str, Any]:
    """CPU seconds and peak memory of a process that fits both models to a log, at first and again."""
    figures: dict[str, Any] = {"reviews": reviews}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quizapp.db"
        rows = review_log(("FSRS-7",), reviews, 0.25, 9)
        with Store.open(path) as store:
            drafts = [
                Draft(
                    EventType.ANSWER,
                    moment(datetime.fromtimestamp(row.time / 1000, UTC), 4),
                    row.card,
                    rating=row.rating,
                    source="drill",
                )
                for row in rows
            ]
            store.append(*drafts)
            Study(Bank({}, {}, {}), store, Settings(), FixedClock(START))
        for name in ("first", "again"):
            command = [sys.executable, "-m", "benchmarks.memory_models", "--fit", str(path)]
            figures[name] = json.loads(
                subprocess.check_output(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
            )
    return figures


def fit_once(path: Path) -> None:
    """Fit the log of a database and print what it took."""
    with Store.open(path) as store:
        study = Study(Bank({}, {}, {}), store, Settings(), FixedClock(START + timedelta(days=900)))
        found = study.fit_weights()
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1024),
        "model": found.model,
        "trainer": found.trainer,
    }
    print(json.dumps(figures))


def table(results: dict[str, dict[str, Score]], line: Callable[[str], None]) -> None:
    """Print a line for each model on each log."""
    line(
        f"{'log':20} {'model':18} {'log loss':>9} {'RMSE(bins)':>11} {'AUC':>7} {'same day':>9} {'later':>7}"
    )
    for log_name, scores in results.items():
        for model, each in scores.items():
            line(
                f"{log_name:20} {model:18} {each.log_loss:9.4f} {each.rmse_bins:11.4f} {each.auc:7.4f}"
                f" {each.same_day:9.4f} {each.later:7.4f}"
            )


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviews", type=int, default=8000, help="reviews of each log")
    parser.add_argument(
        "--fitting", type=int, default=20_000, help="reviews of the log whose fit is measured"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit_once(options.fit)
        return
    results = {
        name: compare_on(review_log(kinds, options.reviews, same_day, seed))
        for seed, (name, (kinds, same_day)) in enumerate(LOGS.items())
    }
    cost = cost_of_fitting(options.fitting) if options.fitting else {}
    if options.json:
        scores = {
            name: {model: each._asdict() for model, each in row.items()} for name, row in results.items()
        }
        print(json.dumps({"scores": scores, "fitting": cost}, indent=2))
        return
    table(results, print)
    for name in ("first", "again"):
        if cost:
            figures = cost[name]
            print(
                f"fitting both to {cost['reviews']} reviews, {name}: {figures['cpu_seconds']} s of CPU time, "
                f"{figures['peak_mb']} MB"
            )


if __name__ == "__main__":
    main()
