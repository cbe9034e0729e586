"""FSRS-7 against an independent implementation, the laws of its memory, and a schedule that follows it."""

import json
from datetime import timedelta
from itertools import pairwise
from math import isclose
from pathlib import Path

import fsrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.scheduling.cards import LEARNING, NEW, RELEARNING, REVIEW, Rating
from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.models.fsrs6 import Fsrs6
from quizapp.scheduling.models.fsrs7 import DAY_MS, DIFFICULTY, STABILITY, Fsrs7
from quizapp.scheduling.models.model import (
    FSRS_6_WEIGHTS,
    FSRS_7_BOUNDS,
    FSRS_7_WEIGHTS,
    Memory,
    MemoryModel,
    ModelName,
    check_weights,
    model_from,
)
from quizapp.scheduling.models.scheduler import Scheduler
from quizapp.scheduling.models.steps import next_step
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock, moment
from quizapp.store import Store
from tests.scheduling.study_kit import MORNING, simple_bank, study

pytestmark = pytest.mark.slow

VECTORS = json.loads((Path(__file__).parent / "fsrs7_vectors.json").read_text(encoding="utf-8"))
DAY = 739_000
NOW = 1_700_000_000_000
SEVEN = MemoryModel.default(ModelName.FSRS_7)
ratings = st.sampled_from(list(Rating))
gaps = st.one_of(st.floats(0, 1), st.floats(1, 400))
histories = st.lists(st.tuples(gaps, ratings), min_size=1, max_size=20)


@st.composite
def weights(draw) -> tuple[float, ...]:
    """Weights anywhere within their bounds, in the order that the bounds ask for."""
    drawn = [draw(st.floats(low, high)) for low, high in FSRS_7_BOUNDS]
    drawn[:4] = sorted(drawn[:4])
    drawn[26] = max(drawn[25], drawn[26])
    return tuple(drawn)


anywhere = st.one_of(st.just(FSRS_7_WEIGHTS), weights())


def remembered(model: Fsrs7, history) -> tuple[float, float, float]:
    trace = model.first(history[0][1])
    for gap, rating in history[1:]:
        trace = model.after(trace, gap, rating)
    return trace


@pytest.mark.parametrize("history", VECTORS["histories"], ids=lambda history: history["weights"])
def test_memory_and_intervals_agree_with_ts_fsrs(history) -> None:
    model = Fsrs7(VECTORS["weights"][history["weights"]])
    trace = None
    for gap, rating, recall, slow, fast, difficulty, *intervals in history["reviews"]:
        if trace is None:
            trace = model.first(rating)
        else:
            assert model.recall(trace, gap) == pytest.approx(recall, abs=1e-6)
            trace = model.after(trace, gap, rating)
        # They round their memory to eight decimal places after every review.
        assert trace == pytest.approx((slow, difficulty, fast), rel=1e-4, abs=1e-6)
        for retention, theirs in zip((0.9, 0.8), intervals, strict=True):
            ours = model.interval(trace, retention)
            if ours == 0.0:
                assert theirs < 1 / 86_400
                continue
            # They stop when recall is within 0.001 of the target, so intervals are compared by recall.
            assert model.recall(trace, ours) == pytest.approx(model.recall(trace, theirs), abs=1.01e-3)


def test_the_states_on_which_fsrs_rs_and_the_benchmark_agree() -> None:
    expected = [  # slow stability, difficulty, fast stability, from the test of ts-fsrs at 8214fdd
        (0.1104, 6.1686, 0.0883), (0.1104, 6.1092, 0.0883), (0.9169, 6.0504, 44.4442),
        (3.5338, 5.9922, 193.5973), (10.186, 5.9346, 407.6265), (25.9857, 5.8775, 700.5589),
    ]  # fmt: skip
    model = Fsrs7(FSRS_7_WEIGHTS)
    trace = model.first(1)
    for gap, state in zip((0, 0, 1, 3, 8, 21), expected, strict=True):
        trace = trace if state is expected[0] else model.after(trace, gap, 3)
        assert trace == pytest.approx(state, abs=5e-5)


@given(anywhere, histories, gaps, gaps)
def test_recall_is_one_at_first_and_only_falls(chosen, history, one, other) -> None:
    model = Fsrs7(chosen)
    trace = remembered(model, history)
    assert isclose(model.recall(trace, 0), 1, abs_tol=2e-5)
    soon, late = sorted((one, other))
    assert 0 < model.recall(trace, late) <= model.recall(trace, soon) <= 1


@given(anywhere, histories)
def test_memory_stays_within_its_bounds(chosen, history) -> None:
    slow, difficulty, fast = remembered(Fsrs7(chosen), history)
    assert STABILITY[0] <= slow <= STABILITY[1]
    assert STABILITY[0] <= fast <= STABILITY[1]
    assert DIFFICULTY[0] <= difficulty <= DIFFICULTY[1]


@given(anywhere, histories, gaps)
def test_a_better_rating_never_leaves_a_weaker_memory(chosen, history, gap) -> None:
    model = Fsrs7(chosen)
    before = remembered(model, history)
    after = [model.after(before, gap, rating) for rating in Rating]
    for worse, better in pairwise(after):
        assert better[0] >= worse[0]
        assert better[2] >= worse[2]
    # The less a lapse surprises the model, the less difficulty rises, so Hard may rise more than Again.
    again, hard, good, easy = (trace[1] for trace in after)
    assert min(again, hard) >= good >= easy
    firsts = [model.first(rating) for rating in Rating]
    assert [trace[0] for trace in firsts] == sorted(trace[0] for trace in firsts)


@given(anywhere, histories, st.floats(0.5, 0.99))
def test_the_interval_is_the_inverse_of_recall(chosen, history, retention) -> None:
    model = Fsrs7(chosen)
    trace = remembered(model, history)
    days = model.interval(trace, retention)
    if days == STABILITY[1]:
        assert model.recall(trace, days) >= retention
    elif days == 0.0:
        assert model.recall(trace, 1 / 86_400) <= retention
    else:
        assert model.recall(trace, days) == pytest.approx(retention, abs=1e-6)


@given(st.lists(ratings, min_size=1, max_size=12), st.booleans())
def test_steps_are_those_of_the_package(given_ratings, with_steps) -> None:
    state, step = NEW.value, None
    package, six = Fsrs6(FSRS_6_WEIGHTS), Memory()
    for rating in given_ratings:
        six = package.review(six, rating, DAY, with_steps, 0)
        state, step = next_step(state, step, rating, with_steps)
        assert (state, step) == (six.state, six.step)
    assert fsrs.State(state)


def test_seconds_count_and_study_days_do_not() -> None:
    scheduler = Scheduler(SEVEN)
    evening = scheduler.review(Memory(), Rating.EASY, DAY, time=NOW)
    assert scheduler.elapsed(evening, DAY + 1, NOW + DAY_MS // 4) == 0.25
    soon = scheduler.review(evening, Rating.GOOD, DAY, time=NOW + 60_000)
    later = scheduler.review(evening, Rating.GOOD, DAY, time=NOW + DAY_MS // 2)
    assert later.stability > soon.stability
    backward = scheduler.review(later, Rating.GOOD, DAY - 1, time=NOW)
    assert (backward.last_day, backward.last) == (later.last_day, later.last)


@given(histories, st.integers(0, 300), st.booleans())
def test_intervals_of_a_day_and_more_rise_with_the_rating(history, elapsed, steps) -> None:
    scheduler = Scheduler(SEVEN)
    memory, time = Memory(), NOW
    for gap, rating in history:
        time += int(gap * DAY_MS)
        memory = scheduler.review(memory, rating, DAY + (time - NOW) // DAY_MS, steps, time)
    time += elapsed * DAY_MS
    found = scheduler.outcomes(
        memory, DAY + (time - NOW) // DAY_MS, card="c", repetition=2, retention=0.9, most=36500,
        steps=steps, time=time,
    )  # fmt: skip
    for outcome in found.values():
        if outcome.memory.state == REVIEW:
            assert outcome.interval % 86_400 == 0
            assert outcome.interval >= 86_400
        else:
            assert outcome.memory.state in {LEARNING, RELEARNING}
            assert outcome.interval < 86_400
    days = [found[rating].interval for rating in (Rating.HARD, Rating.GOOD, Rating.EASY)]
    assert days == sorted(days)


def test_models_of_the_log_that_this_program_cannot_use_are_ignored() -> None:
    assert model_from("FSRS-7", list(FSRS_7_WEIGHTS)) == SEVEN
    assert model_from("FSRS-8", [1.0] * 50) is None
    assert model_from("FSRS-7", list(FSRS_7_WEIGHTS[:33])) is None
    assert model_from("FSRS-7", [1e300, *FSRS_7_WEIGHTS[1:]]) is None
    assert model_from("FSRS-7", ["0.1", *FSRS_7_WEIGHTS[1:]]) is None
    assert model_from("FSRS-6", [float("nan"), *FSRS_6_WEIGHTS[1:]]) is None
    assert model_from("FSRS-6", None) is None
    with pytest.raises(ValueError, match="34"):
        check_weights(ModelName.FSRS_7, FSRS_6_WEIGHTS)
    assert check_weights(ModelName.FSRS_7, FSRS_7_WEIGHTS) == FSRS_7_WEIGHTS


def test_the_setting_forces_the_model_and_promised_dates_stay(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 3, clock=clock) as before:
        for name in ("q0", "q1"):
            before.answer(name, Rating.EASY)
        clock.forward(days=4)
        before.answer("q0", Rating.GOOD)
        dates = {row.card: row.due for row in before.cards()}
        assert before.model == "FSRS-6/default"
    with study(tmp_path, 3, clock=clock, memory_model="FSRS-7") as forced:
        assert forced.model == "FSRS-7/default"
        assert {row.card: row.due for row in forced.cards()} == dates
        assert all(row.fast > 0 for row in forced.cards())
        live = forced.store.tables.snapshot()
        forced.store.rebuild()
        assert forced.store.tables.snapshot() == live
    with study(tmp_path, 3, clock=clock) as after:
        assert after.model == "FSRS-6/default"
        assert {row.card: row.due for row in after.cards()} == dates


def test_what_a_button_promised_holds_however_long_the_answer_takes(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 20, clock=clock, memory_model="FSRS-7") as learner:
        for number in range(20):
            name = f"q{number}"
            learner.answer(name, Rating.GOOD)
            clock.forward(minutes=10)
            promised = learner.previews(name)
            clock.forward(minutes=25)
            shown = {rating: preview.interval for rating, preview in learner.previews(name).items()}
            assert shown == {rating: preview.interval for rating, preview in promised.items()}
            assert learner.answer(name, Rating.GOOD).interval == promised[Rating.GOOD].interval


def test_a_model_event_chooses_and_its_undo_brings_the_old_one_back(tmp_path: Path) -> None:
    data = {"model": "FSRS-7", "weights": {"FSRS-7": list(FSRS_7_WEIGHTS)}}
    with Study(simple_bank(3), Store.open(tmp_path / "quizapp.db"), clock=FixedClock(MORNING)) as learner:
        learner.answer("q0", Rating.GOOD)
        due = learner.card("q0").due
        (event,) = learner.store.append(Draft(EventType.MODEL, learner.now(), data=data))
        assert learner.model == "FSRS-7/default"
        assert learner.card("q0").due == due
        assert learner.previews("q0")
        # New weights of FSRS-6, perhaps from an older program on another device, do not change the model.
        six = {"model": "FSRS-6", "weights": [0.3, *FSRS_6_WEIGHTS[1:]]}
        learner.store.append(Draft(EventType.SETTINGS, learner.now(), data=six))
        assert learner.model == "FSRS-7/default"
        undo = moment(MORNING + timedelta(minutes=5), 4)
        learner.store.append(Draft(EventType.UNDO, undo, target=event.id))
        assert learner.model.startswith("FSRS-6/")
        assert learner.model != "FSRS-6/default"
        live = learner.store.tables.snapshot()
        learner.store.rebuild()
        assert learner.store.tables.snapshot() == live
