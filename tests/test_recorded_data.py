"""A data folder recorded before the packages were rebuilt opens, replays and resumes as it did then.

``tests/data/recorded/quizapp.db`` holds 24 study days: answers, undo and redo, flags, suspended and buried
cards, verdicts, three finished mock interviews, a single incident, and an interview in progress.
``expected.json`` is what the program of that day said of it.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from quizapp.interview import archive
from quizapp.interview.blueprint import SINGLE_INCIDENT
from quizapp.interview.report.model import load_report
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store import Store
from quizapp.store.projection import CARD_COLUMNS
from tests.interview.mock_kit import small_bank

RECORDED = Path(__file__).parent / "data" / "recorded"
EXPECTED: dict[str, Any] = json.loads((RECORDED / "expected.json").read_text(encoding="utf-8"))
CLOCK = datetime.fromisoformat(EXPECTED["now"])
TOPICS = frozenset(
    """alignment backpropagation data debugging distributed fine-tuning gradient-flow lr-schedules optimizers
    performance precision regularization reproducibility scaling training-loop""".split()  # noqa: SIM905
)
"""The topics of the roles when the data were recorded."""


def opened(path: Path) -> Study:
    return Study(small_bank(TOPICS), Store.open(path), Settings(new_per_day=12), FixedClock(CLOCK))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return Path(shutil.copy(RECORDED / "quizapp.db", tmp_path / "quizapp.db"))


@pytest.fixture
def study(database: Path) -> Iterator[Study]:
    with opened(database) as made:
        yield made


def rows(path: Path, query: str) -> list[list[Any]]:
    connection = sqlite3.connect(path)
    try:
        return [list(row) for row in connection.execute(query)]
    finally:
        connection.close()


def test_cards_keep_state_due_date_memory_and_history(study: Study) -> None:
    for name, expected in EXPECTED["facts"].items():
        facts = study.card(name)
        assert {
            "state": facts.state,
            "due": facts.due.isoformat() if facts.due else None,
            "stability": facts.stability,
            "difficulty": facts.difficulty,
            "retrievability": facts.retrievability,
            "reps": facts.reps,
            "lapses": facts.lapses,
            "suspended": facts.suspended,
            "buried": facts.buried,
            "flagged": facts.flagged,
            "leech": facts.leech,
            "history": [
                [
                    review.time.isoformat(), int(review.rating), review.state, review.elapsed_days,
                    review.interval.total_seconds(), review.seconds, review.source,
                ]
                for review in facts.history
            ],
        } == {key: value for key, value in expected.items() if key != "previews"}, name  # fmt: skip


def test_buttons_promise_the_same_intervals(study: Study) -> None:
    for name, expected in EXPECTED["facts"].items():
        promised = [
            [int(each.rating), each.due.isoformat(), each.interval.total_seconds(), each.text]
            for each in study.previews(name).values()
        ]
        assert promised == expected["previews"], name


def test_queue_counts_and_statistics_are_the_same(study: Study) -> None:
    assert [card.as_json() for card in study.due()] == EXPECTED["due"]
    assert list(study.counts()) == EXPECTED["counts"]
    stats = json.loads(json.dumps(study.stats().as_json()))
    assert stats.pop("comparison") is None, "no fit has compared the models yet"
    assert rounded(stats) == rounded(EXPECTED["stats"])


def rounded(document: object) -> object:
    """A document with 12 decimals, because Python 3.12 and newer sum floats more exactly."""
    return json.loads(json.dumps(document), parse_float=lambda text: round(float(text), 12))


def test_exercises_keep_their_state(study: Study) -> None:
    states = {
        slug: [
            state.state, state.submissions, state.passed_at.isoformat() if state.passed_at else None,
            state.due.isoformat() if state.due else None, state.best,
        ]
        for slug, state in study.exercise_states().items()
    }  # fmt: skip
    assert states == EXPECTED["exercises"]


def test_replay_from_the_log_alone_gives_the_recorded_rows(database: Path) -> None:
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("DELETE FROM cards")
        connection.execute("DELETE FROM reviews")
        connection.execute("UPDATE head SET seq = 0, fold = ''")
    connection.close()
    opened(database).close()
    columns = ", ".join(name for name in CARD_COLUMNS if name != "fast")
    assert rows(database, f"SELECT {columns} FROM cards ORDER BY card") == EXPECTED["cards"]
    assert rows(database, "SELECT DISTINCT fast FROM cards") == [[0.0]], "FSRS-6 has one stability"
    assert rows(database, "SELECT * FROM reviews ORDER BY seq") == EXPECTED["reviews"]


def test_another_memory_model_keeps_history_and_dates_and_changes_what_buttons_promise(
    database: Path,
) -> None:
    settings = Settings(new_per_day=12, memory_model="FSRS-7")
    with Study(small_bank(TOPICS), Store.open(database), settings, FixedClock(CLOCK)) as study:
        assert study.model == "FSRS-7/default"
        promised = {}
        for name, expected in EXPECTED["facts"].items():
            facts = study.card(name)
            assert (facts.due.isoformat() if facts.due else None) == expected["due"], name
            assert (facts.state, facts.reps, facts.lapses) == (
                expected["state"], expected["reps"], expected["lapses"],
            )  # fmt: skip
            history = [[review.time.isoformat(), int(review.rating)] for review in facts.history]
            assert history == [row[:2] for row in expected["history"]], name
            waits = [preview.interval.total_seconds() for preview in study.previews(name).values()]
            promised[name] = waits != [row[2] for row in expected["previews"]]
            steps = [wait for wait in waits if wait < 86_400]
            assert steps == [row[2] for row in expected["previews"] if row[2] < 86_400], "steps are the same"
        assert any(promised.values()), "what is promised from now on is FSRS-7's"
        live = study.store.tables.snapshot()
        study.store.rebuild()
        assert study.store.tables.snapshot() == live
    with opened(database) as back:
        for name, expected in EXPECTED["facts"].items():
            assert back.card(name).stability == expected["stability"], name


def test_finished_interviews_keep_totals_and_marks(study: Study) -> None:
    finished = {
        report.id: report.as_json() for report in archive.done(study) + archive.done(study, SINGLE_INCIDENT)
    }
    expected = {mock["id"]: mock for mock in EXPECTED["mocks"] if mock["state"] == "done"}
    assert finished.keys() == expected.keys()
    for name, document in finished.items():
        assert document["totals"] == expected[name]["totals"]
        assert [item["marks"] for item in document["items"]] == expected[name]["marks"]


def test_stored_reports_are_written_back_as_they_were(study: Study) -> None:
    documents = [mock.document for mock in study.mocks("done")]
    assert len(documents) == 4
    for document in documents:
        assert load_report(document).as_json() == document


def test_the_interview_in_progress_resumes_where_it_was_left(study: Study) -> None:
    stored = archive.running(study)
    assert stored is not None
    session = Interview.resume(study, stored.document).session
    assert session.item is not None
    resumed = {
        "item": session.item.number, "kind": session.item.kind,
        "typed": session.item.typed, "state": session.state.state,
    }  # fmt: skip
    assert resumed == EXPECTED["resumed"]
