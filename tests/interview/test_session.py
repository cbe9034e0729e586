"""The clock and the states of a running interview."""

from pathlib import Path

import pytest

from quizapp.interview.service import Interview
from quizapp.interview.session.session import InterviewSession
from tests.interview.mock_kit import ROLES, answer_now, begin, later, study, wait


@pytest.fixture
def running(tmp_path: Path):
    made = study(tmp_path)
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=False)
    interview.session.proceed()
    yield interview, hand
    made.close()


def test_marks_then_cut_at_one_and_a_half_of_the_time(running) -> None:
    interview, hand = running
    item = interview.session.item
    budget = item.budget
    assert wait(interview, hand, 0.5 * budget + 1) == ["mark-50"]
    assert wait(interview, hand, 0.4 * budget) == ["mark-90"]
    interview.session.type("half a thought")
    said = wait(interview, hand, 0.7 * budget)
    assert said[0] == "cut"
    assert item.state == "cut"
    assert item.used_ms == 1500 * budget


def test_an_expired_item_never_opens_again(running) -> None:
    interview, hand = running
    item = interview.session.item
    wait(interview, hand, 2 * item.budget)
    before = item.as_json()
    assert interview.session.open(item.number) == []
    interview.session.type("too late")
    assert item.as_json() == before
    assert not interview.session.can_open(item.number)


def test_a_skipped_item_comes_back_within_its_phase_and_keeps_its_time(running) -> None:
    interview, hand = running
    session = interview.session
    while len(session.in_phase()) < 3:
        answer_now(interview)
        wait(interview, hand, 1)
    first = session.item
    before = first.used_ms
    session.type("a start")
    wait(interview, hand, 7)
    session.skip()
    assert first.state == "skipped"
    assert session.item is not first
    wait(interview, hand, 5)
    assert session.open(first.number) == ["item"]
    assert first.typed in {"a start", ""}
    wait(interview, hand, 4)
    assert first.used_ms == before + 11_000


def test_a_phase_whose_time_is_used_opens_no_further_item(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        interview, hand = begin(made, "applied-fine-tuning", 45, seed=2, code=False)
        session = interview.session
        session.proceed()
        while session.now.name != "concept":
            wait(interview, hand, 5)
        phase = session.now
        while session.now is phase:
            wait(interview, hand, 5)
        states = [item.state for item in session.items if item.phase == phase.name]
        assert "unreached" in states
        assert phase.used_ms <= 1000 * (phase.seconds + 1.5 * max(i.budget for i in session.items))


def test_the_interview_ends_with_its_length_and_everything_is_closed(tmp_path: Path) -> None:
    for minutes in (15, 60):
        folder = tmp_path / str(minutes)
        folder.mkdir()
        with study(folder) as made:
            interview, hand = begin(made, "training-infrastructure", minutes, seed=9)
            wait(interview, hand, 60 * minutes + 5, step=4.0)
            session = interview.session
            assert session.ended
            assert session.elapsed_ms <= 60_000 * minutes
            assert {item.state for item in session.items} <= {"frozen", "cut", "abandoned", "unreached"}
            assert session.tick() == []


def test_confidence_is_asked_before_the_follow_up_and_costs_no_item_time(running) -> None:
    interview, hand = running
    session = interview.session
    while session.item.kind != "recall" or not session.item.follow_ups:
        answer_now(interview)
        wait(interview, hand, 1)
    item = session.item
    before = item.used_ms
    session.type("because of this")
    wait(interview, hand, 10)
    assert session.submit() == ["confidence"]
    wait(interview, hand, 8)
    assert item.used_ms == before + 10_000
    session.type("changed afterwards")
    assert item.typed == "because of this"
    assert session.confide(60) == []
    assert session.confide(75) == ["probe"]
    wait(interview, hand, 6)
    assert item.open_follow_up.used_ms == 6_000


def test_ending_early_leaves_unopened_items_unreached(running) -> None:
    interview, hand = running
    answer_now(interview)
    wait(interview, hand, 1)
    interview.session.end("early")
    states = [item.state for item in interview.session.items]
    assert states[0] == "frozen"
    assert set(states[1:]) == {"unreached"}


def test_the_clock_does_not_drift_over_an_hour_of_stalls(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        interview, hand = begin(made, "research-engineer", 60, seed=1)
        started = hand.seconds
        steps = [0.2, 0.2333, 3.7, 9.9, 0.0, 61.3, 0.2, 600.0]  # blocked loops, a stop, a suspend
        at = 0
        while not interview.session.ended:
            hand.seconds += steps[at % len(steps)]
            at += 1
            interview.tick()
            if not interview.session.ended:
                assert abs(interview.session.elapsed_ms - 1000 * (hand.seconds - started)) < 2
                assert interview.session.elapsed_ms == sum(p.used_ms for p in interview.session.phases)


def test_a_stall_counts_as_time_but_opens_nothing(running) -> None:
    interview, hand = running
    item = interview.session.item
    interview.session.type("the beginning of")
    hand.seconds += 3 * item.budget
    said = interview.tick()
    assert said[0] == "lost"
    assert item.state == "lost"
    opened = [other for other in interview.session.items if other.opened_ms is not None]
    assert len(opened) <= 2
    assert all(other.used_ms == 0 for other in opened if other is not item)


@pytest.mark.parametrize("role", ROLES)
def test_a_session_survives_its_json_form_at_any_moment(tmp_path: Path, role: str) -> None:
    with study(tmp_path) as made:
        interview, hand = begin(made, role, 45, seed=11)
        interview.session.proceed()
        for _ in range(30):
            data = interview.session.as_json()
            assert InterviewSession.from_json(data, hand).as_json() == data
            wait(interview, hand, 13)
            if interview.session.ended:
                break
            if interview.session.item is not None and interview.session.item.state == "open":
                answer_now(interview)


def test_resume_moves_the_clock_by_the_time_that_passed_outside(tmp_path: Path) -> None:
    made = study(tmp_path)
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=False)
    interview.session.proceed()
    item = interview.session.item
    interview.session.give("1")
    interview.session.type("first words")
    wait(interview, hand, 12)
    interview.save()
    later(made.clock, seconds=20)
    hand.seconds = 5.0  # another process, another start of the monotonic clock
    again = Interview.resume(made, made.mocks("running")[0].document, hand)
    assert again.session.elapsed_ms == interview.session.elapsed_ms + 20_000
    assert again.session.items[item.number].used_ms == item.used_ms + 20_000
    assert again.session.item.number == item.number
    assert [event.event for event in again.session.state.events][-2:] == ["lost", "resumed"]
    made.close()


def test_resume_long_after_finds_the_interview_over_without_invented_reviews(tmp_path: Path) -> None:
    made = study(tmp_path)
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=False)
    interview.session.proceed()
    wait(interview, hand, 5)
    interview.save()
    later(made.clock, hours=9)
    again = Interview.resume(made, made.mocks("running")[0].document, hand)
    assert again.session.ended
    again.propose()
    again.record()
    assert made.stats().reviews == 0
    made.close()
