"""Measures store and schedule against their budgets, and answer plus next card against Anki's backend.

The result is printed as JSON. ``--quick`` leaves out the large database. Ratios come from one interleaved
run. The bare append (one INSERT and one fsync) is the least that a durable answer costs on this disk.
"""

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from quizapp.bank.model import Bank, Question, Topic
from quizapp.scheduling.cards import REVIEW, CardRow, Rating
from quizapp.scheduling.events import Draft, EventType, Moment
from quizapp.scheduling.reducer import CardReducer, memory_of
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store import Store

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SETTINGS = Settings(new_per_day=9999, reviews_per_day=9999)


def bank(cards: int) -> Bank:
    """Return a bank of small questions in 40 topics."""
    questions = {}
    for number in range(cards):
        name = f"question-{number:06}"
        topic = f"topic-{number % 40}"
        questions[name] = Question(name, topic, "medium", "recall", "p", "a", "lora", content_hash="0" * 16)
    topics = {f"topic-{n}": Topic(f"topic-{n}", f"Topic {n}", "") for n in range(40)}
    return Bank(questions, topics, {}, paths={"core": tuple(questions)})


def template(rng: random.Random, name: str, reviews: int) -> list[tuple[int, int, int, int]]:
    """Return the reviews of a card that is always reviewed when due.

    Each is (day, ms of the day, rating, promised interval in seconds).
    """
    fold, row = CardReducer(), CardRow(name)
    day, clock, history = 1000, 30_000_000, []
    for _ in range(reviews):
        rating = rng.choices(tuple(Rating), (10, 15, 60, 15))[0]
        outcome = fold.scheduler.outcomes(
            memory_of(row), day, card=name, repetition=row.reps, retention=0.9, most=60, up_to=rating
        )[rating]
        draft = Draft(
            EventType.ANSWER, Moment(day * 86_400_000, 0, day), name, rating=rating, interval=outcome.interval
        )
        fold.apply(row, draft.placed(1, "", 1, 1))
        history.append((day, clock, int(rating), outcome.interval))
        day, clock = day + outcome.interval // 86_400, clock + outcome.interval % 86_400 * 1000
    return history


def fill(path: Path, cards: int, reviews: int) -> None:
    """Write a database of cards that were reviewed when due, of which a few percent are due today."""
    rng = random.Random(7)
    today, offset = (NOW - timedelta(hours=4)).toordinal(), date(1970, 1, 1).toordinal()
    # Simulating every card would take long, so the cards share 300 histories, shifted in time.
    templates: list[list[tuple[int, int, int, int]]] = []
    while len(templates) < 300:
        candidate = template(rng, f"template-{rng.random()}", reviews // cards)
        if candidate[-1][3] >= 5 * 86_400:  # not in its learning steps
            templates.append(candidate)
    drafts = []
    for name in bank(cards).questions:
        history = rng.choice(templates)
        last_day, _, _, interval = history[-1]
        ago = rng.randint(1, interval // 86_400) + (rng.randint(0, 30) if rng.random() < 0.02 else 0)
        shift = today - last_day - ago
        for day, clock, rating, promised in history:
            when = Moment((day + shift - offset) * 86_400_000 + clock + rng.randint(0, 900), 0, day + shift)
            drafts.append(
                Draft(
                    EventType.ANSWER,
                    when,
                    name,
                    "0" * 16,
                    rating=rating,
                    ms=9000,
                    source="drill",
                    interval=promised,
                )
            )
    drafts.sort(key=lambda draft: draft.moment.time)
    with Store.open(path) as store:
        store.append(*drafts)
        Study(Bank({}, {}, {}), store, SETTINGS, FixedClock(NOW))


def milliseconds(action: Any, repeats: int) -> list[float]:
    """Return the wall time of each of several calls in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def open_to_first(folder: Path, cards: int, reviews: int, repeats: int) -> dict[str, Any]:
    """Measure opening the store, attaching the schedule and getting the first card."""
    path = folder / f"{cards}.db"
    if not path.exists():
        fill(path, cards, reviews)
    questions = bank(cards)

    times, closing, cpu = [], [], []
    # The first round warms the file cache and is not counted.
    for _ in range(repeats + 1):
        start, busy = time.perf_counter(), time.process_time()
        store = Store.open(path)
        study = Study(questions, store, clock=FixedClock(NOW))
        card = study.next_card()
        shown = time.perf_counter()
        cpu.append((time.process_time() - busy) * 1e3)
        store.close()
        times.append((shown - start) * 1e3)
        closing.append((time.perf_counter() - shown) * 1e3)
        assert card is not None
    with Store.open(path) as store:
        due = Study(questions, store, SETTINGS, FixedClock(NOW)).counts().due
    return {
        "cards": cards,
        "reviews": reviews,
        "due": due,
        "median_ms": round(statistics.median(times[1:]), 2),
        "max_ms": round(max(times[1:]), 2),
        "cpu_median_ms": round(statistics.median(cpu[1:]), 2),
        "closing_median_ms": round(statistics.median(closing[1:]), 2),
        "megabytes": round(path.stat().st_size / 1e6, 1),
    }


class Bare:
    """The lower bound: one INSERT and one fsync."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY, text TEXT)")

    def step(self) -> None:
        """Append one row."""
        self.db.execute("INSERT INTO log (text) VALUES (?)", ("x" * 200,))


class Ours:
    """Answering a card and getting the next one with quizapp."""

    def __init__(self, path: Path, cards: int) -> None:
        self.study = Study(bank(cards), Store.open(path), SETTINGS, FixedClock(NOW))
        self.card = self.study.next_card()
        self.rng = random.Random(3)

    def step(self) -> None:
        """One answer and the next card."""
        assert self.card is not None
        self.study.answer(self.card.id, self.rng.choices((1, 3, 4), (1, 8, 1))[0], seconds=5)
        self.card = self.study.next_card()
        if self.card is None:  # a new morning
            self.study.clock.forward(days=1)  # type: ignore[attr-defined]
            self.card = self.study.next_card()


class Anki:
    """Answering a card and getting the next one with Anki's backend."""

    def __init__(self, path: Path, cards: int) -> None:
        from anki.collection import Collection

        self.col = Collection(str(path))
        self.col.set_config("fsrs", True)
        config = self.col.decks.config_dict_for_deck_id(1)  # type: ignore[arg-type]
        config["new"]["perDay"] = config["rev"]["perDay"] = 9999
        self.col.decks.update_config(config)
        basic = self.col.models.by_name("Basic")
        assert basic is not None
        for number in range(cards):
            note = self.col.new_note(basic)
            note["Front"], note["Back"] = f"question {number}", "answer"
            self.col.add_note(note, 1)  # type: ignore[arg-type]
        self.queued = self.col.sched.get_queued_cards()  # type: ignore[attr-defined]

    def step(self) -> None:
        """One answer and the next card."""
        from anki.cards import Card
        from anki.scheduler.v3 import CardAnswer

        top = self.queued.cards[0]
        card = Card(self.col, backend_card=top.card)
        card.start_timer()
        answer = self.col.sched.build_answer(  # type: ignore[attr-defined]
            card=card, states=top.states, rating=CardAnswer.EASY
        )
        self.col.sched.answer_card(answer)  # type: ignore[attr-defined]
        self.queued = self.col.sched.get_queued_cards()  # type: ignore[attr-defined]


def answer_plus_next(folder: Path, steps: int) -> dict[str, Any]:
    """Measure quizapp, Anki and the bare append, interleaved step by step."""
    ours_path = folder / "ours.db"
    fill(ours_path, 1000, 10_000)
    runners: dict[str, Any] = {"bare_append": Bare(folder / "bare.db"), "quizapp": Ours(ours_path, 1000)}
    try:
        runners["anki"] = Anki(folder / "anki.anki2", steps + 50)
    except ImportError:
        print("anki is not installed: no comparison", file=sys.stderr)
    times: dict[str, list[float]] = {name: [] for name in runners}
    for turn in range(steps):
        for name, runner in runners.items():
            # The first 20 steps only warm up caches.
            times[name] += milliseconds(runner.step, 1) if turn >= 20 else []
    figures: dict[str, Any] = {
        f"{name}_median_ms": round(statistics.median(values), 3) for name, values in times.items()
    }
    beyond = [ours - bare for ours, bare in zip(times["quizapp"], times["bare_append"], strict=True)]
    figures["beyond_fsync_median_ms"] = round(statistics.median(beyond), 3)
    figures["quizapp_p95_ms"] = round(statistics.quantiles(times["quizapp"], n=20)[18], 3)
    if "anki" in times:
        ratio = statistics.median(times["quizapp"]) / statistics.median(times["anki"])
        figures["quizapp_to_anki"] = round(ratio, 2)
    figures["cpu_of_answer_and_next_ms"] = round(_cpu(runners["quizapp"]), 3)
    return figures


def _cpu(ours: Ours) -> float:
    """Return the CPU time of answer plus next in ms, including the write to the log but no fsync."""
    ours.study.store.db.connection.execute("PRAGMA synchronous = OFF")
    times = []
    for _ in range(300):
        start = time.process_time()
        ours.step()
        times.append((time.process_time() - start) * 1e3)
    return statistics.median(times)


def rebuild(folder: Path, reviews: int) -> dict[str, Any]:
    """Measure deleting everything that is derived from the log and replaying the log."""
    path = folder / "rebuild.db"
    fill(path, 1000, reviews)
    with Store.open(path) as store:
        Study(Bank({}, {}, {}), store, SETTINGS, FixedClock(NOW))
        before = store.tables.snapshot()
        busy = time.process_time()
        seconds = milliseconds(store.rebuild, 1)[0] / 1e3
        busy = time.process_time() - busy
        same = store.tables.snapshot() == before
    graduated = sum(row[1] == REVIEW for row in before["cards"])
    return {
        "reviews": reviews,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(busy, 2),
        "same_bytes": same,
        "graduated": graduated,
    }


def imports() -> dict[str, float]:
    """Measure the milliseconds of importing the schedule, and of then importing the ``fsrs`` package."""
    code = (
        "import time; a = time.perf_counter(); import quizapp.scheduling.service; b = time.perf_counter();"
        "import fsrs; c = time.perf_counter(); print((b - a) * 1e3, (c - b) * 1e3)"
    )
    runs = [
        [float(part) for part in subprocess.check_output([sys.executable, "-c", code]).split()]
        for _ in range(5)
    ]
    ours, package = (round(statistics.median(column), 1) for column in zip(*runs, strict=True))
    return {"quizapp_memory_ms": ours, "fsrs_ms": package}


def main() -> None:
    """Run the measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out 100k cards and the long rebuild")
    parser.add_argument("--steps", type=int, default=400, help="answers per program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures: dict[str, Any] = {"budgets": {"open_300_ms": 15, "open_100k_ms": 60, "beyond_fsync_ms": 0.2}}
        figures["imports"] = imports()
        figures["open_to_first_card"] = [open_to_first(folder, 300, 10_000, 15)]
        figures["answer_plus_next"] = answer_plus_next(folder, options.steps)
        if not options.quick:
            figures["open_to_first_card"].append(open_to_first(folder, 100_000, 400_000, 5))
            figures["rebuild"] = rebuild(folder, 100_000)
        figures["load_average"] = round(os.getloadavg()[0], 2)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
