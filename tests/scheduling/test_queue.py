"""Which cards come today and in which order."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from quizapp.scheduling.queue import interleaved
from quizapp.scheduling.study_day import FixedClock
from quizapp.scheduling.views import EVERYTHING, CardFilter
from quizapp.settings.model import PlanSettings
from tests.scheduling.study_kit import MORNING, bank, question, simple_bank, study


def ids(desk, flt=CardFilter()) -> list[str]:  # noqa: B008
    return [card.id for card in desk.due(flt)]


def test_new_cards_follow_the_paths_core_first(tmp_path: Path) -> None:
    questions = [question(name) for name in ("a", "b", "c", "d")]
    paths = {"core": ("c", "a"), "research-engineer": ("d",)}
    with study(tmp_path, bank(*questions, paths=paths)) as desk:
        assert ids(desk) == ["c", "a", "d", "b"]


def test_prerequisites_are_introduced_first(tmp_path: Path) -> None:
    questions = [
        question("late", requires=("middle",)),
        question("middle", requires=("early",)),
        question("early"),
    ]
    with study(tmp_path, bank(*questions)) as desk:
        assert ids(desk) == ["early", "middle", "late"]


def test_a_circle_of_prerequisites_does_no_harm(tmp_path: Path) -> None:
    circle = bank(question("a", requires=("b",)), question("b", requires=("a",)))
    with study(tmp_path, circle) as desk:
        assert sorted(ids(desk)) == ["a", "b"]


def test_new_cards_stop_at_the_limit_of_the_day(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 10, clock=clock, new_per_day=3) as desk:
        for _ in range(3):
            desk.answer(desk.next_card().id, 4)
        assert desk.counts().new == 0
        assert desk.next_card() is None
        clock.forward(days=1)
        assert desk.counts().new == 3


def test_limit_holds_after_a_restart(tmp_path: Path) -> None:
    with study(tmp_path, 10, new_per_day=3) as desk:
        desk.answer("q0", 4)
    with study(tmp_path, 10, new_per_day=3) as desk:
        assert desk.counts().new == 2


def test_reviews_stop_at_the_limit_of_the_day(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 6, clock=clock, reviews_per_day=2, new_per_day=0) as desk:
        for index in range(6):
            desk.answer(f"q{index}", 4)
        clock.forward(days=60)
        assert desk.counts().due == 2
        desk.answer(desk.next_card().id, 3)
        assert desk.counts().due == 1


def test_siblings_parents_and_variants_never_share_a_day(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    family = bank(
        question("parent"),
        question("variant-1", parent="parent"),
        question("variant-2", parent="parent"),
        question("left", siblings=("right",)),
        question("right"),
        question("alone"),
    )
    with study(tmp_path, family, clock=clock) as desk:
        days = []
        for _ in range(3):
            today = []
            while card := desk.next_card():
                today.append(card.id)
                desk.answer(card.id, 4)
            days.append(today)
            clock.forward(days=1)
    assert days == [["parent", "left", "alone"], ["variant-1", "right"], ["variant-2"]]


def test_a_card_answered_out_of_turn_keeps_its_siblings_away(tmp_path: Path) -> None:
    pair = bank(question("left", siblings=("right",)), question("right"))
    with study(tmp_path, pair) as desk:
        assert ids(desk) == ["left"]
        desk.answer("right", 4)
        assert ids(desk) == []


def test_due_topics_are_interleaved(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, simple_bank(9), clock=clock) as desk:
        for index in range(9):
            desk.answer(f"q{index}", 4)
        clock.forward(days=60)
        topics = [card.topic for card in desk.due()]
    assert len(topics) == 9
    assert all(one != two for one, two in pairwise(topics))


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_interleaving_keeps_every_card_and_avoids_neighbours_where_it_can(topics: list[str]) -> None:
    questions = [question(f"q{index}", topic=topic) for index, topic in enumerate(topics)]
    order = interleaved(questions)
    assert sorted(order) == sorted(q.id for q in questions)
    where = {q.id: q.topic for q in questions}
    for index in range(1, len(order)):
        if where[order[index]] == where[order[index - 1]]:
            rest = {where[name] for name in order[index:]}
            assert rest == {where[order[index]]}


def test_another_process_is_noticed(tmp_path: Path) -> None:
    with study(tmp_path, 3) as one, study(tmp_path, 3) as two:
        first = one.next_card()
        assert two.next_card() == first
        two.answer(first.id, 4)
        assert one.next_card().id != first.id
        one.answer(one.next_card().id, 4)
        assert two.counts().new == 1
        assert len(two.store.log.all()) == 2


def test_track_and_exercise_filters(tmp_path: Path) -> None:
    questions = [
        question("a", exercise="adamw"),
        question("b", tracks=("training-infrastructure",)),
        question("c"),
    ]
    with study(tmp_path, bank(*questions, paths={"training-infrastructure": ("c",)})) as desk:
        assert ids(desk, CardFilter(exercise="adamw")) == ["a"]
        assert ids(desk, CardFilter(track="training-infrastructure")) == ["c", "b"]
        assert ids(desk, CardFilter(ids=frozenset({"a", "c"}))) == ["c", "a"]
        assert ids(desk, CardFilter(level="hard")) == []


def test_a_card_that_cannot_be_shown_is_left_out_and_nothing_is_logged(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 3, clock=clock) as desk:
        assert desk.next_card().id == "q0"
        assert desk.leave_out("q0")
        assert not desk.leave_out("q0")
        assert desk.next_card().id == "q1"
        assert "q0" not in ids(desk)
        assert desk.counts().total == 2
        clock.forward(days=1)
        assert "q0" not in ids(desk)
        assert "q0" not in ids(desk.with_settings(desk.settings))
        assert desk.events() == []
    with study(tmp_path, 3, clock=clock) as desk:
        assert desk.next_card().id == "q0"


def test_the_rest_names_what_the_limits_and_related_cards_hold_back(tmp_path: Path) -> None:
    questions = [question("a", siblings=("b",)), *(question(name) for name in "bcde")]
    clock = FixedClock(MORNING)
    with study(tmp_path, bank(*questions), new_per_day=1, clock=clock) as desk:
        desk.answer("a", 4)
        assert ids(desk) == []
        rest = desk.queue.rest(CardFilter())
        assert (rest.reviews, rest.new, rest.cards, rest.suspended) == (0, 3, 5, 0)
        more = desk.queue.with_more(CardFilter(), 2)
        assert ids(desk, more) == ["c", "d"]
        desk.answer("c", 4)
        assert ids(desk, more) == ["d"]
        # Asked for again from the start, it is two more than what was introduced.
        assert ids(desk, desk.queue.with_more(CardFilter(), 2)) == ["d", "e"]
        # A selection by name misses the sibling, and can have it.
        chosen = CardFilter(ids=frozenset("ab"), extra=EVERYTHING)
        assert desk.queue.rest(chosen).apart == ("b",)
        assert ids(desk, desk.queue.with_related(chosen)) == ["b"]


def test_studying_ahead_shows_what_falls_due_within_a_week_once(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, bank(*(question(name) for name in "ab")), clock=clock) as desk:
        desk.answer("a", 4)
        clock.forward(days=2)
        desk.answer("b", 4)
        (due_a,) = [row.due_day - desk.now().day for row in desk.cards() if row.card == "a"]
        assert due_a > 0
        ahead = desk.queue.with_later(CardFilter())
        assert desk.queue.rest(CardFilter()).ahead == (1 if due_a <= 7 else 0)
        assert ids(desk, ahead) == (["a"] if due_a <= 7 else [])
        everything = CardFilter(ids=frozenset("ab"), extra=EVERYTHING)
        assert ids(desk, everything) == ["a"]  # b was answered today
        desk.answer("a", 3)
        assert ids(desk, everything) == []


def test_a_selection_is_shown_whether_it_is_due_or_not_and_over_all_limits(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 6, clock=clock, new_per_day=1, reviews_per_day=0) as desk:
        desk.answer("q0", 4)
        clock.forward(days=1)
        chosen = CardFilter(ids=frozenset({"q0", "q3", "q5"}), extra=EVERYTHING)
        assert sorted(ids(desk, chosen)) == ["q0", "q3", "q5"]
        desk.suspend("q3")
        assert sorted(ids(desk, chosen)) == ["q0", "q5"]
        assert desk.queue.rest(chosen).suspended == 1


def test_no_new_cards_come_from_what_the_plan_leaves_out(tmp_path: Path) -> None:
    questions = [question("a"), question("b", topic="other"), question("c", level="hard")]
    with study(tmp_path, bank(*questions), plan=PlanSettings(leave_out=("other", "hard"))) as desk:
        assert ids(desk) == ["a"]
        assert ids(desk, CardFilter(topic="other")) == ["b"]
        assert ids(desk, CardFilter(level="hard")) == ["c"]
        desk.answer("b", 1)  # one that was begun goes on
        assert ids(desk) == ["b", "a"]
