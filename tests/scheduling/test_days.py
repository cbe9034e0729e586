"""Study days through rollover, daylight saving and journeys."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.scheduling.statistics import calendar, streak
from quizapp.scheduling.study_day import FixedClock, as_date, as_datetime, day_start, interval_text, moment
from tests.scheduling.study_kit import study

BERLIN = ZoneInfo("Europe/Berlin")
EPOCH = datetime.fromisoformat("2020-01-01 00:00")
ZONES = ["Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]


def local(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def day(text: str) -> str:
    return as_date(moment(local(text), 4).day).isoformat()


def test_day_begins_at_the_rollover_hour() -> None:
    assert day("2026-03-02 03:59") == "2026-03-01"
    assert day("2026-03-02 04:00") == "2026-03-02"
    assert day("2026-03-03 00:30") == "2026-03-02"


def test_daylight_saving_does_not_move_the_hour() -> None:
    for date_ in ("2026-03-29", "2026-10-25"):
        before = (datetime.fromisoformat(date_) - timedelta(days=1)).date().isoformat()
        assert day(f"{date_} 03:59") == before
        assert day(f"{date_} 04:00") == date_


@given(
    st.integers(0, 15 * 365 * 86_400).map(lambda s: EPOCH + timedelta(seconds=s)),
    st.sampled_from(ZONES),
    st.integers(0, 23),
)
def test_a_day_contains_the_moments_from_its_start(when: datetime, zone: str, rollover: int) -> None:
    found = moment(when.replace(tzinfo=ZoneInfo(zone)), rollover)
    start = day_start(found.day, found.offset, rollover)
    assert start <= found.time + 1 < start + 86_400_000 + 1


def test_evening_and_next_morning_are_one_day_apart(tmp_path: Path) -> None:
    # reviewed at 23:00 and again at 8:30: 9.5 hours, but one study day
    clock = FixedClock(local("2026-03-02 12:00"))
    with study(tmp_path, clock=clock) as desk:
        desk.answer("q0", 4)
        clock.time = local("2026-03-10 23:00")
        desk.answer("q0", 3)
        clock.time = local("2026-03-11 08:30")
        desk.answer("q0", 3)
        assert [review.elapsed_days for review in desk.card("q0").history] == [0, 8, 1]


def test_after_midnight_is_still_the_same_day(tmp_path: Path) -> None:
    clock = FixedClock(local("2026-03-02 23:00"))
    with study(tmp_path, clock=clock) as desk:
        desk.answer("q0", 4)
        clock.time = local("2026-03-03 03:00")
        desk.answer("q0", 3)
        assert desk.card("q0").history[1].elapsed_days == 0
        assert streak(desk) == 1


@pytest.mark.parametrize("date_", ["2026-03-28", "2026-10-24"])
def test_a_day_across_daylight_saving_counts_as_one(tmp_path: Path, date_: str) -> None:
    clock = FixedClock(local(f"{date_} 09:00"))
    with study(tmp_path, clock=clock) as desk:
        desk.answer("q0", 1)
        desk.answer("q0", 3)
        due = desk.answer("q0", 3).due
        next_day = datetime.fromisoformat(date_) + timedelta(days=1)
        assert due >= next_day.replace(hour=0, tzinfo=UTC)
        clock.time = next_day.replace(hour=4, minute=1, tzinfo=BERLIN)
        assert desk.counts().due == 1


def test_travelling_west_never_makes_time_run_backwards(tmp_path: Path) -> None:
    clock = FixedClock(local("2026-03-02 09:00", ZoneInfo("Pacific/Auckland")))
    with study(tmp_path, clock=clock) as desk:
        desk.answer("q0", 4)
        clock.time = clock.time.astimezone(ZoneInfo("Pacific/Honolulu")) + timedelta(hours=1)
        desk.answer("q0", 3)
        facts = desk.card("q0")
        assert [review.elapsed_days for review in facts.history] == [0, 0]
        assert facts.stability > 0
        live = desk.store.tables.snapshot()
        desk.store.rebuild()
        assert desk.store.tables.snapshot() == live


def test_stored_offsets_and_days_survive_a_move(tmp_path: Path) -> None:
    clock = FixedClock(local("2026-03-02 23:30", ZoneInfo("Asia/Tokyo")))
    with study(tmp_path, clock=clock) as desk:
        desk.answer("q0", 4)
        (event,) = desk.store.log.all()
        assert (event.offset, as_date(event.day).isoformat()) == (9 * 3600, "2026-03-02")
        assert as_datetime(event.time) == clock.time
    with study(tmp_path, clock=FixedClock(local("2026-03-20 09:00", ZoneInfo("America/New_York")))) as desk:
        assert calendar(desk, 19)[0][1] == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(60, "1 m"), (330, "6 m"), (600, "10 m"), (7200, "2 h"), (86400, "1 d"), (86400 * 59, "59 d"),
     (86400 * 73, "2.4 mo"), (86400 * 400, "1.1 y")],
)  # fmt: skip
def test_interval_texts(seconds: int, text: str) -> None:
    assert interval_text(timedelta(seconds=seconds)) == text
