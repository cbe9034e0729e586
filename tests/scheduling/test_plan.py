"""The plan to a date: its arithmetic against the scheduler, its laws on random decks, its choice."""

from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizapp.errors import QuizError
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.models.model import FSRS_6_WEIGHTS as DEFAULT_WEIGHTS
from quizapp.scheduling.models.model import Memory, MemoryModel, ModelName
from quizapp.scheduling.models.scheduler import Scheduler
from quizapp.scheduling.planner.calendar import INCIDENT, MOCK, calendar, rehearsals
from quizapp.scheduling.planner.deck import AnswerHabits, ExerciseTask, PlanDeck
from quizapp.scheduling.planner.fsrs_math import UNSEEN, FsrsFormulas, plan_formulas
from quizapp.scheduling.planner.interview_date import named_day
from quizapp.scheduling.planner.load_deck import PATH, SECONDS, TOPICS, StudyWeights, load_deck
from quizapp.scheduling.planner.plan import as_json, make_plan, plan_today
from quizapp.scheduling.planner.policy_search import PolicySearch, mean
from quizapp.scheduling.planner.random_draws import FIRST_DAYS, SAMPLES, uniform_samples
from quizapp.scheduling.planner.simulate import Policy, simulate, taper_of
from quizapp.scheduling.study_day import FixedClock
from tests.scheduling.study_kit import bank, question, study

pytestmark = pytest.mark.slow

TODAY = date(2026, 3, 2)  # a Monday
DAY = 739_000
FORMULAS = FsrsFormulas(DEFAULT_WEIGHTS)
HABITS = AnswerHabits((0.24, 0.094, 0.495, 0.171), (0.224, 0.631, 0.145), {})
USUAL = Policy(0.9, 20, PATH)
MOST_ANSWERS = 8  # that one card can take on a day
# a card: (stability or 0.0, difficulty, days since the last review, days until due, weight)
CARDS = st.tuples(
    st.one_of(st.just(0.0), st.floats(0.2, 200)),
    st.floats(1, 10),
    st.integers(0, 60),
    st.integers(0, 30),
    st.sampled_from((0.25, 1.0, 2.0)),
)
DECKS = st.lists(CARDS, min_size=1, max_size=60)
TASKS = st.lists(
    st.tuples(st.integers(5, 40), st.sampled_from((0.0, 3.0, 30.0)), st.integers(0, 20)), max_size=6
)


def deck(cards, tasks=(), *, topics=3, seconds=SECONDS) -> PlanDeck:
    number = len(cards)
    return PlanDeck(
        names=[f"q{n}" for n in range(number)],
        topics=[f"topic-{n % topics}" for n in range(number)],
        levels=[("easy", "medium", "hard")[n % 3] for n in range(number)],
        exercises=[f"task-{n % (len(tasks) or 1)}" for n in range(number)],
        weight=[card[4] for card in cards],
        seconds=[seconds] * number,
        memory=[(card[0], card[1]) if card[0] else UNSEEN for card in cards],
        last=[-card[2] for card in cards],
        due=[card[3] if card[0] else 0 for card in cards],
        relatives=[[n ^ 1] if (n ^ 1) < number and n % 4 < 2 else [] for n in range(number)],
        retention=[0.0] * number,
        away=frozenset(),
        introduced=0,
        orders={PATH: list(range(number)), TOPICS: list(reversed(range(number)))},
        tasks=[
            ExerciseTask(
                f"task-{n}",
                minutes,
                1.0,
                (stability, 5.0) if stability else UNSEEN,
                -last,
                last,
                stability > 0,
            )
            for n, (minutes, stability, last) in enumerate(tasks)
        ],
        formulas=FORMULAS,
        habits=HABITS,
    )


def unseen(number: int) -> list[tuple]:
    return [(0.0, 0.0, 0, 0, 1.0)] * number


def days_of(number: int, minutes: float, **rest):
    return [slot.day for slot in calendar(TODAY, TODAY + timedelta(days=number), lambda _: minutes, **rest)]


@pytest.mark.parametrize("name", ModelName)
@given(
    history=st.lists(st.tuples(st.integers(0, 400), st.integers(1, 4)), min_size=1, max_size=30),
    elapsed=st.integers(0, 500),
    retention=st.floats(0.7, 0.97),
)
def test_the_arithmetic_is_the_schedulers(name, history, elapsed, retention) -> None:
    model = MemoryModel.default(name)
    scheduler, formulas = Scheduler(model), plan_formulas(model)
    memory, day, planned = Memory(), DAY, UNSEEN
    for index, (gap, rating) in enumerate(history):
        day += gap
        memory = scheduler.review(memory, rating, day)
        planned = formulas.after(planned, gap, rating) if index else formulas.first(rating)
        assert planned[0] == pytest.approx(memory.stability, rel=1e-9)
        assert planned[1] == pytest.approx(memory.difficulty, rel=1e-9)
    expected = scheduler.retrievability(memory, elapsed)
    assert formulas.recall(planned, elapsed) == pytest.approx(expected, rel=1e-9)
    interval = scheduler.ideal_interval(memory, retention)
    assert formulas.interval(planned, retention) == pytest.approx(interval, rel=2e-3, abs=1e-3)


def test_a_card_never_seen_is_not_recalled() -> None:
    assert FORMULAS.recall(UNSEEN, 3) == 0.0


def test_without_study_the_chances_are_the_schedules_own(tmp_path: Path) -> None:
    with study(tmp_path, 6) as learner:
        for name, rating in (("q0", Rating.EASY), ("q1", Rating.AGAIN), ("q2", Rating.GOOD)):
            learner.answer(name, rating)
        learner.clock.forward(days=3)
        learner.answer("q0", Rating.HARD)
        found = load_deck(learner, StudyWeights({}, {}))
        run = simulate(found, days_of(10, 0), USUAL, seed=5)
        now = learner.now()
        when = now._replace(day=now.day + 10)
        rows = {row.card: row for row in learner.store.tables.cards()}
        expected = [learner.recall_of(rows[name], when) if name in rows else 0.0 for name in found.names]
    assert run.chances == pytest.approx(expected, rel=1e-9)
    assert run.questions == pytest.approx(sum(expected) / 6, rel=1e-9)
    assert run.seen == 0.5


def test_a_simulated_review_is_the_schedulers() -> None:
    one = deck([(8.0, 5.0, 8, 0, 1.0)])
    (run,) = [simulate(one, days_of(3, 1), USUAL, seed) for seed in (1,)]
    before = Memory(2, None, 8.0, 5.0, DAY - 8)
    scheduler = Scheduler()
    luck = uniform_samples(1, 1)[0][0] / FORMULAS.recall((8.0, 5.0), 8)
    assert luck < 1, "the seed recalls the card"
    rating = 2 if luck < 0.224 else 3 if luck < 0.855 else 4
    after = scheduler.review(before, rating, DAY)
    assert run.days[0].reviews == 1
    assert run.chances[0] == pytest.approx(scheduler.retrievability(after, 3), rel=1e-9)


def test_first_days_follow_the_shares_and_the_learning_steps() -> None:
    found = deck(unseen(1)).first_days
    assert len(found) == FIRST_DAYS
    once = [row for row in found if row[1] == 1]
    assert once == [(FORMULAS.first(4), 1)] * len(once)
    assert len(once) / FIRST_DAYS == pytest.approx(0.171, abs=0.01)
    assert 2.0 < sum(row[1] for row in found) / FIRST_DAYS < 3.5


@settings(max_examples=60)
@given(DECKS, TASKS, st.integers(1, 40), st.integers(1, 60), st.booleans(), st.booleans(), st.integers(0, 9))
def test_no_course_breaks_the_rules(cards, tasks, number, minutes, ahead, late, seed) -> None:
    days = days_of(number, minutes)
    policy = Policy(0.9, 15, PATH, 0.5, ahead, late)
    run = simulate(deck(cards, tasks), days, policy, seed, code_share=0.3)
    taper = number - taper_of(number)
    assert taper_of(number) >= max(2, 0.1 * number)
    again = {f"task-{n}" for n, (_, stability, _) in enumerate(tasks) if stability}
    for index, (day, done) in enumerate(zip(days, run.days, strict=True)):
        # one card may be open when the time ends, with all the answers it takes
        assert done.seconds <= day.seconds + MOST_ANSWERS * SECONDS
        assert done.new <= policy.pace
        if index >= taper and not late:
            assert done.new == 0
        if index < number - 1:
            again |= {slug for slug, _, finished in done.code if finished}
    assert days[-1].seconds <= 60 * minutes / 2
    assert {slug for slug, _, _ in run.days[-1].code} <= again
    assert 0 <= run.value <= 1
    assert run.seen >= sum(1 for card in cards if card[0]) / len(cards)


def test_the_eve_leaves_well_known_cards_alone() -> None:
    sure = deck([(500.0, 5.0, 1, 2, 1.0)] * 5 + [(3.0, 5.0, 9, 2, 1.0)] * 4)
    run = simulate(sure, days_of(3, 60), USUAL, seed=1)
    assert [day.reviews for day in run.days] == [0, 0, 4]
    assert run.chances[:5] == [FORMULAS.recall((500.0, 5.0), 4)] * 5


def test_a_last_pass_reviews_in_the_taper_what_is_not_due() -> None:
    known = deck([(6.0, 5.0, 3, 20, 1.0)] * 12)
    plain = simulate(known, days_of(6, 60), USUAL, seed=1)
    ahead = simulate(known, days_of(6, 60), USUAL._replace(ahead=True), seed=1)
    assert [day.reviews for day in plain.days] == [0] * 6
    assert [day.reviews > 0 for day in ahead.days[:5]] == [False] * 4 + [True]
    assert ahead.value > plain.value


def test_what_a_last_pass_reviewed_is_not_due_on_its_old_day() -> None:
    sure = replace(deck([(40.0, 5.0, 20, 3, 1.0)] * 8), relatives=[[]] * 8)
    days = [day._replace(last=False, taper=number == 1) for number, day in enumerate(days_of(4, 60))]
    run = simulate(sure, days, USUAL._replace(ahead=True), seed=2)
    assert [done.reviews for done in run.days[:2]] == [0, 8]
    assert sum(done.reviews for done in run.days[2:]) < 4  # only what was forgotten


def test_a_card_is_not_begun_that_would_not_fit() -> None:
    both = replace(deck([(5.0, 5.0, 5, 0, 1.0)] * 2), seconds=[300, 10], relatives=[[], []])
    run = simulate(both, days_of(4, 1), USUAL, seed=1)
    assert run.days[0].reviews == 1
    assert run.days[0].seconds <= 20


def test_relatives_do_not_come_on_one_day() -> None:
    run = simulate(deck(unseen(2)), days_of(20, 60), USUAL, seed=1)
    assert all(day.reviews + day.new <= 1 for day in run.days)
    assert run.seen == 1.0
    alone = replace(deck(unseen(2)), relatives=[[], []])
    assert simulate(alone, days_of(20, 60), USUAL, seed=1).days[0].new == 2


def test_cards_introduced_today_count_and_those_away_wait(tmp_path: Path) -> None:
    relatives = bank(question("a"), question("b", parent="a"), *(question(name) for name in "cdef"))
    with study(tmp_path, relatives) as learner:
        learner.answer("a", Rating.GOOD, seconds=30)
        learner.bury("c")
        found = load_deck(learner, StudyWeights({}, {}))
        run = simulate(found, days_of(20, 60), Policy(0.9, 2, PATH), seed=1)
    assert found.introduced == 1
    assert {found.names[card] for card in found.away} == {"b", "c"}
    assert run.days[0].new == 1  # the second of the day, and neither b nor c
    assert run.days[1].new == 2


def test_suspended_cards_are_left_out_and_learning_ones_come_today(tmp_path: Path) -> None:
    with study(tmp_path, 4) as learner:
        learner.answer("q0", Rating.AGAIN)
        learner.suspend("q1")
        found = load_deck(learner, StudyWeights({"q2": 3.0}, {"lora": 2.0}))
    assert found.names == ["q0", "q2", "q3"]
    assert found.weight == [1.0, 3.0, 1.0]
    assert found.due[0] == 0
    assert [(task.slug, task.weight, task.passed) for task in found.tasks] == [("lora", 2.0, False)]


def test_own_times_and_ratings_move_the_common_ones(tmp_path: Path) -> None:
    mixed = bank(*(question(f"q{n}", kind="choice" if n % 2 else "recall") for n in range(40)))
    with study(tmp_path, mixed) as learner:
        before = load_deck(learner, StudyWeights({}, {})).habits
        for n in range(40):
            learner.answer(f"q{n}", Rating.EASY, seconds=10 if n % 2 else 100)
        after = load_deck(learner, StudyWeights({}, {})).habits
    assert before.seconds == {"choice": SECONDS, "recall": SECONDS}
    assert 10 < after.seconds["choice"] < SECONDS < after.seconds["recall"] < 100
    assert after.first[3] > 0.5 > before.first[3]
    assert sum(after.first) == pytest.approx(1)
    assert sum(after.later) == pytest.approx(1)


def test_new_cards_can_come_topic_by_topic(tmp_path: Path) -> None:
    with study(tmp_path, 9) as learner:
        weights = StudyWeights({}, {}, topics=["topic-2", "topic-0", "topic-1"])
        found = load_deck(learner, weights)
    topics = [found.topics[card] for card in found.orders[TOPICS]]
    assert topics == ["topic-2"] * 3 + ["topic-0"] * 3 + ["topic-1"] * 3
    assert sorted(found.orders[PATH]) == list(range(9))


@given(st.lists(st.sampled_from((0, 5, 20, 45, 120)), max_size=60))
def test_rehearsals_fit_their_days_and_leave_the_eve_free(minutes) -> None:
    found = rehearsals(minutes)
    mocks = [day for day, (name, _) in found.items() if name == MOCK]
    assert all(0 < length <= minutes[day] for day, (_, length) in found.items())
    assert all(len(minutes) - day >= 2 for day in found)
    assert all(late - early >= 1 for early, late in zip(sorted(mocks), sorted(mocks)[1:], strict=False))
    assert {name for name, _ in found.values()} <= {MOCK, INCIDENT}


def test_rehearsals_stay_where_they_are_as_the_day_comes_nearer() -> None:
    whole, later = rehearsals([45] * 40), rehearsals([45] * 39)
    assert {day - 1: what for day, what in whole.items() if day} == later
    assert max(day for day, (name, _) in whole.items() if name == MOCK) == 37


@pytest.mark.parametrize("minutes", range(15, 200, 5))
def test_rehearsals_take_a_tenth_of_the_time_and_no_longer_day_leaves_less(minutes: int) -> None:
    def taken(each: int) -> int:
        return sum(length for _, length in rehearsals([each] * 200).values())

    assert 0.05 < taken(minutes) / (200 * minutes) < 0.12
    assert 200 * (minutes + 1) - taken(minutes + 1) > 200 * minutes - taken(minutes) - 60


def test_days_off_time_spent_and_a_rehearsal_done() -> None:
    slots = calendar(
        TODAY, TODAY + timedelta(days=8), lambda when: 0 if when.weekday() == 6 else 40, spent=15
    )
    assert [slot.minutes for slot in slots] == [25, 40, 40, 40, 40, 40, 0, 20]
    assert slots[6].day.seconds == 0
    held = next(slot for slot in slots if slot.rehearsal == MOCK)
    assert held.day.seconds == 60 * (held.minutes - held.rehearsal_minutes)
    soon = TODAY + timedelta(days=3)
    assert calendar(TODAY, soon, lambda _: 40)[0].rehearsal == MOCK
    assert calendar(TODAY, soon, lambda _: 40, rehearsed={MOCK})[0].rehearsal == ""


@settings(max_examples=10, deadline=None)
@given(DECKS, TASKS, st.integers(3, 20), st.integers(5, 40), st.integers(5, 40))
def test_more_minutes_do_not_make_the_chosen_plan_worse(cards, tasks, number, minutes, more) -> None:
    values = []
    for length in (minutes, minutes + more):
        days = [slot.day for slot in calendar(TODAY, TODAY + timedelta(days=number), lambda _: length)]  # noqa: B023
        days = [day._replace(seconds=60 * length / (2 if day.last else 1)) for day in days]
        choice = PolicySearch(deck(cards, tasks), days, 0.3).choose(USUAL)
        values.append(mean(choice.runs))
    assert values[1] > values[0] - 0.03


@settings(max_examples=10, deadline=None)
@given(DECKS, st.integers(2, 20), st.integers(5, 40))
def test_the_choice_is_never_worse_than_the_settings_and_obeys_the_taper(cards, number, minutes) -> None:
    choice = PolicySearch(deck(cards), days_of(number, minutes), 0.0).choose(USUAL)
    assert choice.gain >= 0
    new = sum(day.new for run in choice.runs for day in run.days[number - taper_of(number) :])
    assert choice.policy.late or not new


def test_a_choice_that_other_luck_refutes_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    search = PolicySearch(deck(unseen(60)), days_of(10, 30), 0.0)
    idle = USUAL._replace(pace=0)
    monkeypatch.setattr(search, "_champion", lambda *_: idle)
    choice = search.choose(USUAL)
    assert choice.policy == USUAL
    assert choice.gain == 0


def test_the_choice_shows_every_card_where_time_is_short() -> None:
    choice = PolicySearch(deck(unseen(200)), days_of(14, 20), 0.0).choose(USUAL)
    seen = [sum(run.seen for run in runs) for runs in (choice.runs, choice.usual_runs)]
    assert choice.gain > 0.03
    assert seen[0] > seen[1]
    assert choice.policy.retention == USUAL.retention or choice.gain > 0.004


def test_new_cards_enter_the_taper_only_where_they_bring_something() -> None:
    assert PolicySearch(deck(unseen(300)), days_of(2, 60), 0.0).choose(USUAL).policy.late
    known = deck([(30.0, 5.0, 3, 5, 1.0)] * 200 + unseen(1))
    assert not PolicySearch(known, days_of(20, 60), 0.0).choose(USUAL).policy.late


def plan(cards, number, minutes, target=0.85, tasks=()):
    until = TODAY + timedelta(days=number)
    slots = calendar(TODAY, until, lambda _: minutes)
    return make_plan(deck(cards, tasks), slots, until, USUAL, target=target, code_share=0.2 if tasks else 0.0)


def test_the_same_state_gives_the_same_plan() -> None:
    assert as_json(plan(unseen(80), 12, 20), 20, 200) == as_json(plan(unseen(80), 12, 20), 20, 200)


def test_the_interval_holds_what_other_luck_brings() -> None:
    found = plan(unseen(120), 20, 30)
    one = deck(unseen(120))
    days = days_of(20, 30)
    values = [simulate(one, days, found.policy, seed).value for seed in range(5000, 5040)]
    assert found.low < sum(values) / 40 < found.high
    assert found.low < found.recall < found.high


def test_a_plan_below_its_target_names_three_ways_with_their_price() -> None:
    found = plan(unseen(150), 14, 20, target=0.8, tasks=[(20, 0.0, 0)] * 3)
    time, drop, accept = found.alternatives
    assert (time.kind, drop.kind, accept.kind) == ("time", "drop", "accept")
    assert time.reaches
    assert time.minutes > 0
    more = plan(unseen(150), 14, 20 + time.minutes, tasks=[(20, 0.0, 0)] * 3)
    assert more.recall > found.target - 0.03
    fewer = plan(unseen(150), 14, 20 + max(0, time.minutes - 30), tasks=[(20, 0.0, 0)] * 3)
    assert fewer.recall < found.target
    assert drop.reaches
    assert 0 < drop.cost <= 0.5
    assert drop.topics or drop.levels
    assert accept.recall == found.recall
    assert not plan([(900.0, 5.0, 1, 9, 1.0)] * 30, 5, 20).alternatives


def test_settings_follow_the_days_with_new_cards() -> None:
    found = plan(unseen(150), 14, 20)
    days = [day.done for day in found.days if day.done.new]
    average = sum(day.new for day in days) / len(days)
    wanted = found.settings(300, 200)
    assert wanted["desired_retention"] == found.policy.retention
    assert wanted["new_per_day"] == pytest.approx(average, abs=0.51 if average < 10 else 2.51)


def test_new_cards_become_more_in_steps_and_stay_where_the_plan_is_near() -> None:
    found = plan(unseen(400), 21, 90)
    limit, limits = 4, [4]
    while (wanted := found.settings(limit, 200)["new_per_day"]) != limit:
        limit = int(wanted)
        limits.append(limit)
    assert limits[1] == 9
    assert limits == sorted(limits)
    assert all(after <= max(1.5 * before, before + 5) + 2.5 for before, after in pairwise(limits))
    assert all(number < 10 or number % 5 == 0 for number in limits)
    for near in (round(0.9 * limit), round(1.1 * limit)):
        assert found.settings(near, 200)["new_per_day"] == near


def test_advice_on_reviews_does_not_take_itself_back() -> None:
    met = [(4.0, 5.0, 3, 1, 1.0)] * 60
    advised = 0
    for minutes in (15, 20, 30):
        found = plan([*unseen(150), *met], 14, minutes)
        found = found._replace(choice=found.choice._replace(policy=found.policy._replace(share=0.5)))
        for before in (1, 9999):
            after = found.settings(20, before)["reviews_per_day"]
            advised += after != before
            assert found.settings(20, after)["reviews_per_day"] == after
            # a plan of the next morning counts a few reviews less or more
            assert found.settings(20, round(1.3 * after))["reviews_per_day"] == round(1.3 * after)
    assert advised == 6


def test_no_advice_leaves_out_over_half_of_the_weight() -> None:
    found = plan(unseen(150), 2, 10, target=0.95)
    drop = found.alternatives[1]
    assert not drop.reaches
    assert drop.cost <= 0.5


@pytest.mark.parametrize(
    ("text", "days"),
    [("3 weeks", 21), ("in 3 weeks", 21), ("In three  weeks", 21), ("in a month", 30), ("one day", 1)],
)
def test_a_day_is_named_by_its_distance(text: str, days: int) -> None:
    assert named_day(text, TODAY) == TODAY + timedelta(days=days)


@pytest.mark.parametrize("text", ["threeweeks", "in weeks", "soon", "2026-02-30", ""])
def test_what_names_no_day_is_refused(text: str) -> None:
    with pytest.raises(QuizError, match="is not a day"):
        named_day(text, TODAY)


def test_a_plan_is_made_from_the_state_and_follows_it(tmp_path: Path) -> None:
    with study(tmp_path, 30) as learner:
        until = learner.today() + timedelta(days=12)
        weights = StudyWeights({}, {"lora": 10.0}, code_share=0.2)
        first = plan_today(learner, until, weights, minutes=20)
        assert first
        assert first == plan_today(learner, until, weights, minutes=20)
        for name in ("q0", "q1", "q2"):
            learner.answer(name, Rating.GOOD, seconds=100)
        second = plan_today(learner, until, weights, minutes=20)
        assert second
        assert second.days[0].calendar_day.minutes == pytest.approx(15)
        learner.clock.forward(days=1)
        third = plan_today(learner, until, weights, minutes=20)
        assert third
        assert [day.calendar_day.date for day in third.days] == [
            day.calendar_day.date for day in first.days[1:]
        ]
        for name in learner.bank.questions:
            learner.suspend(name)
        assert plan_today(learner, until, weights, minutes=20) is None


def test_the_study_day_decides_what_today_is(tmp_path: Path) -> None:
    with study(tmp_path, 5) as learner:
        clock = learner.clock
        assert isinstance(clock, FixedClock)
        until = learner.today() + timedelta(days=4)
        clock.forward(hours=18)  # 3 in the morning, before the day turns
        found = plan_today(learner, until, StudyWeights({}, {}), minutes=20)
        assert found
        assert found.days[0].calendar_day.date == until - timedelta(days=4)


def test_luck_repeats_itself() -> None:
    assert uniform_samples(3, 5) == uniform_samples(3, 5)
    assert len(uniform_samples(3, 5)[0]) == SAMPLES
    assert uniform_samples(3, 5) != uniform_samples(4, 5)
