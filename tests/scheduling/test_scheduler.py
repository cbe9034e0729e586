"""The scheduler against the FSRS packages and Anki, its fuzz and its order of intervals."""

import random
from datetime import UTC, datetime, timedelta

import fsrs
import fsrs_rs_python
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.scheduling.cards import LEARNING, NEW, RELEARNING, REVIEW, Rating
from quizapp.scheduling.models.fuzz import fuzz_bounds, fuzz_sample, fuzzed, seed_of
from quizapp.scheduling.models.model import FSRS_6_WEIGHTS as DEFAULT_WEIGHTS
from quizapp.scheduling.models.model import Memory, MemoryModel, ModelName, check_weights
from quizapp.scheduling.models.scheduler import Scheduler

pytestmark = pytest.mark.slow

DAY = 739_000
SCHEDULER = Scheduler()
# (days since the review before, rating); 0 days is a review on the same study day
HISTORIES = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 400)), st.sampled_from(list(Rating))),
    min_size=1,
    max_size=30,
)


def replay(history) -> list[Memory]:
    memory, day, found = Memory(), DAY, []
    for elapsed, rating in history:
        day += elapsed
        memory = SCHEDULER.review(memory, rating, day)
        found.append(memory)
    return found


def test_default_weights_are_those_of_the_packages() -> None:
    assert fsrs.Scheduler().parameters == DEFAULT_WEIGHTS
    assert tuple(fsrs_rs_python.DEFAULT_PARAMETERS) == pytest.approx(DEFAULT_WEIGHTS, rel=1e-6)


@given(HISTORIES)
def test_memory_agrees_with_py_fsrs_on_whole_days(history) -> None:
    package = fsrs.Scheduler(enable_fuzzing=False)
    card, when = fsrs.Card(card_id=1), datetime(2024, 1, 1, tzinfo=UTC)
    for (elapsed, rating), ours in zip(history, replay(history), strict=True):
        when += timedelta(days=elapsed)
        card, _ = package.review_card(card, fsrs.Rating(rating), when)
        assert ours.stability == pytest.approx(min(card.stability, 36500), rel=1e-5)
        assert ours.difficulty == pytest.approx(card.difficulty, rel=1e-5)
        assert (ours.state, ours.step) == (card.state.value, card.step)


def test_memory_agrees_with_fsrs_rs_on_thousands_of_histories() -> None:
    oracle = fsrs_rs_python.FSRS(list(DEFAULT_WEIGHTS))
    rng = random.Random(1)
    for _ in range(3000):
        history = [
            (rng.choice((0, 0, 1, rng.randint(1, 12), rng.randint(1, 300))), Rating(rng.randint(1, 4)))
            for _ in range(rng.randint(1, 12))
        ]
        reviews = [
            fsrs_rs_python.FSRSReview(int(rating), 0 if not index else elapsed)
            for index, (elapsed, rating) in enumerate(history)
        ]
        expected = oracle.memory_state(fsrs_rs_python.FSRSItem(reviews))
        ours = replay(history)[-1]
        assert ours.stability == pytest.approx(expected.stability, rel=1e-5)
        assert ours.difficulty == pytest.approx(expected.difficulty, rel=1e-5)


def test_evening_and_morning_reviews_use_ankis_days() -> None:
    # in 24-hour blocks 23:00 and 8:30 are the same day and stability hardly grows
    first = SCHEDULER.review(Memory(), Rating.GOOD, DAY)
    next_morning = SCHEDULER.review(first, Rating.GOOD, DAY + 1)
    same_day = SCHEDULER.review(first, Rating.GOOD, DAY)
    assert same_day.stability == pytest.approx(2.3065, rel=0.01)
    assert next_morning.stability == pytest.approx(7.3, abs=0.1)


@given(HISTORIES)
def test_stability_and_difficulty_stay_in_bounds(history) -> None:
    for memory in replay(history):
        assert 0.001 <= memory.stability <= 36500
        assert 1 <= memory.difficulty <= 10


def outcomes(memory: Memory, day: int, *, card: str = "c", repetition: int = 3, **rest):
    given_ = {"retention": 0.9, "most": 36500} | rest
    return SCHEDULER.outcomes(memory, day, card=card, repetition=repetition, **given_)


@given(HISTORIES, st.integers(0, 500), st.integers(0, 1000), st.floats(0.75, 0.97), st.booleans())
def test_graduated_intervals_rise_from_hard_to_easy(history, elapsed, repetition, retention, steps) -> None:
    memory = replay(history)[-1]
    day = memory.last_day + elapsed
    found = outcomes(memory, day, repetition=repetition, retention=retention, steps=steps)
    days = {rating: outcome.interval / 86400 for rating, outcome in found.items()}
    if memory.state == REVIEW:
        if days[Rating.HARD] < 36500 - 2:
            assert 1 <= days[Rating.HARD] < days[Rating.GOOD] < days[Rating.EASY]
        assert found[Rating.AGAIN].interval == 600 or not steps
    graduating = [days[r] for r in (2, 3, 4) if found[Rating(r)].memory.state == REVIEW]
    assert graduating == sorted(graduating)
    assert max(days.values()) <= 36500


@given(st.floats(0.5, 2000), st.floats(1, 10), st.integers(1, 3000), st.integers(1, 1000))
def test_fuzz_alone_never_shortens_an_interval(stability, difficulty, before, elapsed) -> None:
    memory = Memory(REVIEW, None, stability, difficulty, DAY, before * 86400)
    found = outcomes(memory, DAY + elapsed)
    for rating in (Rating.HARD, Rating.GOOD, Rating.EASY):
        ideal = SCHEDULER.ideal_interval(found[rating].memory, 0.9)
        if round(ideal) > before and before < 36000:
            assert found[rating].interval > before * 86400


@given(st.integers(1, 40), st.integers(1, 40))
def test_longest_interval_and_cap_are_kept(most, cap) -> None:
    memory = Memory(REVIEW, None, 500.0, 5.0, DAY, 300 * 86400)
    found = outcomes(memory, DAY + 300, most=most, cap=cap)
    for rating in (Rating.HARD, Rating.GOOD, Rating.EASY):
        assert 1 <= found[rating].interval // 86400 <= min(most, cap)


def test_a_single_outcome_is_the_one_on_the_button() -> None:
    memory = replay([(0, Rating.GOOD), (0, Rating.GOOD), (4, Rating.GOOD)])[-1]
    full = outcomes(memory, memory.last_day + 10)
    for rating in Rating:
        assert outcomes(memory, memory.last_day + 10, up_to=rating)[rating] == full[rating]


def test_learning_steps() -> None:
    fresh = outcomes(Memory(), DAY)
    assert [fresh[rating].interval for rating in (1, 2, 3)] == [60, 330, 600]
    assert fresh[Rating.EASY].memory.state == REVIEW
    second = outcomes(fresh[Rating.GOOD].memory, DAY)
    assert second[Rating.GOOD].memory.state == REVIEW
    assert second[Rating.HARD].memory.state == LEARNING
    lapsed = outcomes(second[Rating.GOOD].memory, DAY + 3)[Rating.AGAIN].memory
    assert lapsed.state == RELEARNING
    again = outcomes(lapsed, DAY + 3)
    assert [again[rating].interval for rating in (1, 2)] == [600, 900]
    assert Memory().state == NEW


def test_exercises_have_no_learning_steps() -> None:
    fresh = outcomes(Memory(), DAY, steps=False)
    assert all(outcome.interval >= 86400 for outcome in fresh.values())


@given(st.floats(0.01, 40000))
def test_fuzz_range_is_the_contracts(interval) -> None:
    low, high = fuzz_bounds(interval, 1, 36500)
    interval = min(max(interval, 1), 36500)
    if interval < 2.5:
        assert low == high == int(interval + 0.5)
        return
    delta = (
        1
        + 0.15 * (min(interval, 7) - 2.5)
        + 0.10 * max(min(interval, 20) - 7, 0)
        + 0.05 * max(interval - 20, 0)
    )
    assert low == min(max(int(interval - delta + 0.5), 1), 36500)
    assert high == min(int(interval + delta + 0.5), 36500)


def test_fuzz_uses_its_whole_range_evenly_and_is_the_same_for_ever() -> None:
    drawn = [fuzzed(30, fuzz_sample("card", n), 1, 36500) for n in range(4000)]
    low, high = fuzz_bounds(30, 1, 36500)
    assert set(drawn) == set(range(low, high + 1))
    assert all(drawn.count(days) > 4000 / (high - low + 1) / 2 for days in set(drawn))
    assert seed_of("lr-warmup", 3, "values") == seed_of("lr-warmup", 3, "values")
    assert fuzz_sample("card", 1) == 0.3692111682612449


def test_intervals_lie_within_ankis_fuzz_and_memory_agrees_with_its_backend(tmp_path) -> None:
    from anki.collection import Collection
    from anki.scheduler_pb2 import SchedulingState

    collection = Collection(str(tmp_path / "c.anki2"))
    try:
        collection.set_config("fsrs", True)
        config = collection.decks.config_dict_for_deck_id(1)
        config["new"]["delays"], config["lapse"]["delays"] = [1.0, 10.0], [10.0]
        collection.decks.update_config(config)
        note = collection.new_note(collection.models.by_name("Basic"))
        note["Front"] = "x"
        collection.add_note(note, 1)
        states = collection._backend.get_scheduling_states(note.cards()[0].id)
    finally:
        collection.close()
    assert isinstance(states.good, SchedulingState)
    ours = outcomes(Memory(), DAY)
    for rating, state in ((1, states.again), (2, states.hard), (3, states.good)):
        learning = state.normal.learning
        assert learning.scheduled_secs == ours[Rating(rating)].interval
        assert learning.memory_state.stability == pytest.approx(
            ours[Rating(rating)].memory.stability, rel=1e-5
        )
        assert learning.memory_state.difficulty == pytest.approx(
            ours[Rating(rating)].memory.difficulty, rel=1e-5
        )
    low, high = fuzz_bounds(states.easy.normal.review.memory_state.stability, 1, 36500)
    assert low <= states.easy.normal.review.scheduled_days <= high
    assert low <= ours[Rating.EASY].interval // 86400 <= high


def test_memory_agrees_with_ankis_backend_over_evenings_and_mornings(tmp_path) -> None:
    """Reviews at any hour, several a day, across midnight and rollover: Anki counts the days from its log."""
    from anki.collection import Collection

    rng = random.Random(5)
    collection = Collection(str(tmp_path / "c.anki2"))
    try:
        collection.set_config("fsrs", True)
        collection.set_config("rollover", 4)
        today = collection.sched.day_cutoff  # the end of Anki's present day
        note = collection.new_note(collection.models.by_name("Basic"))
        for number in range(150):
            note = collection.new_note(note.note_type())
            note["Front"] = str(number)
            collection.add_note(note, 1)
            card = note.cards()[0].id
            when, memory = today - rng.randint(900, 1500) * 86400 + 1000, Memory()  # off the boundary
            for index in range(rng.randint(1, 8)):
                hours = rng.choice((0.2, 3, 9.5, 14, rng.randint(20, 30), rng.randint(30, 24 * 60)))
                when += int(hours * 3600)
                rating = Rating(rng.randint(1, 4))
                day = DAY + (when - today) // 86400
                collection.db.execute(
                    "INSERT INTO revlog VALUES (?, ?, 0, ?, 1, 1, 2500, 1000, ?)",
                    when * 1000 + number, card, int(rating), 0 if index == 0 else 1,
                )  # fmt: skip
                memory = SCHEDULER.review(memory, rating, day)
            theirs = collection.compute_memory_state(card)
            assert theirs.stability == pytest.approx(memory.stability, rel=1e-5)
            assert theirs.difficulty == pytest.approx(memory.difficulty, rel=1e-5)
    finally:
        collection.close()


def test_wrong_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="21"):
        check_weights(ModelName.FSRS_6, [1.0] * 19)
    assert check_weights(ModelName.FSRS_6, DEFAULT_WEIGHTS) == DEFAULT_WEIGHTS
    assert MemoryModel().version == "FSRS-6/default"
    assert MemoryModel(weights=(0.3, *DEFAULT_WEIGHTS[1:])).version != "FSRS-6/default"
