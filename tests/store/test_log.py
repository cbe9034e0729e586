"""The log refuses change, orders devices, and merges."""

import random
import sqlite3
from pathlib import Path

import pytest

from quizapp.errors import BrokenData
from quizapp.scheduling.events import Draft, EventType, Moment
from quizapp.scheduling.reducer import CardReducer
from quizapp.store import Store


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET rating = 4",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "UPDATE OR REPLACE events SET seq = 2 WHERE seq = 1",
    ],
)
def test_events_cannot_be_changed_even_from_outside(store, answer, path: Path, statement: str) -> None:
    store.append(answer(), answer(rating=1))
    before = store.log.all()
    outside = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        outside.execute(statement)
    outside.close()
    assert store.log.all() == before


def test_events_have_ids_a_device_and_rising_numbers(store, answer) -> None:
    one, two = store.append(answer(), answer())
    assert one.id != two.id
    assert len(one.id) == 32
    assert one.device == two.device == store.log.devices[-1]
    assert (one.seq, two.seq) == (1, 2)
    assert (one.device_seq, two.device_seq) == (1, 2)
    assert two.stamp > one.stamp >= one.time


def test_a_clock_set_back_does_not_reorder_history(store, answer) -> None:
    store.append(answer(days=5, rating=3))
    store.append(answer(days=0, rating=1))
    live = store.tables.snapshot()
    store.rebuild()
    assert store.tables.snapshot() == live
    assert [review.rating for review in store.tables.reviews(card="q0")] == [3, 1]


def test_several_events_are_one_transaction(store, answer) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        store.append(answer(), Draft("nonsense", Moment(1, 0, 1)))
    assert store.log.all() == []
    assert store.tables.cards() == []


def test_two_devices_agree_after_exchanging_their_events(tmp_path: Path, answer) -> None:
    rng = random.Random(2)
    with Store.open(tmp_path / "a.db") as one, Store.open(tmp_path / "b.db") as two:
        for index, store in enumerate((one, two)):
            store.attach(CardReducer())
            for day in range(20):
                (event,) = store.append(
                    answer(f"q{rng.randint(0, 3)}", rng.randint(1, 4), days=2 * day + index)
                )
                if rng.random() < 0.3:
                    store.append(Draft(EventType.UNDO, Moment(event.time, 0, event.day), target=event.id))
        assert one.merge(two.log.all()) > 20
        assert two.merge(one.log.all()) > 20
        assert one.merge(two.log.all()) == 0
        for table in ("cards", "voids", "renames"):
            assert one.tables.snapshot()[table] == two.tables.snapshot()[table]
        without_seq = [[row[1:] for row in store.tables.snapshot()["reviews"]] for store in (one, two)]
        assert sorted(without_seq[0]) == sorted(without_seq[1])


def test_undo_of_undo_of_undo(store, answer) -> None:
    (event,) = store.append(answer())
    seen = []
    for _ in range(4):
        (event,) = store.append(Draft(EventType.UNDO, Moment(event.time + 1, 0, event.day), target=event.id))
        seen.append(len(store.tables.reviews()))
    assert seen == [0, 1, 0, 1]


def test_events_appended_without_rules_are_derived_later(path: Path, answer) -> None:
    with Store.open(path) as store:
        store.append(answer(), answer("q1"))
        assert store.tables.cards() == []
        store.attach(CardReducer())
        assert [card.card for card in store.tables.cards()] == ["q0", "q1"]


def test_other_rules_rebuild_at_the_next_start(path: Path, answer) -> None:
    class Changed(CardReducer):
        version = "changed"

        def apply(self, card, event):
            review = super().apply(card, event)
            card.priority = 7
            return review

    with Store.open(path) as store:
        store.attach(CardReducer())
        store.append(answer())
    with Store.open(path) as store:
        store.attach(Changed())
        assert store.tables.card("q0").priority == 7
    with Store.open(path) as store:
        store.attach(CardReducer())
        assert store.tables.card("q0").priority == 0


def test_answers_are_committed_with_full_durability(store) -> None:
    assert store.db.row("PRAGMA journal_mode") == ("wal",)
    assert store.db.row("PRAGMA synchronous") == (2,)


def test_a_lost_head_is_said(store) -> None:
    with store.transaction():
        store.db.run("DELETE FROM head")
    with pytest.raises(BrokenData, match="restore"):
        store.append()
