"""The plan as a calendar file, read back by a library that calendars use."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Calendar

from quizapp.bank.model import Bank, Exercise, Topic
from quizapp.cli.main import main
from quizapp.errors import QuizError
from quizapp.exchange.plan_calendar import calendar_text, check_calendar_path, write_calendar
from quizapp.scheduling.planner.load_deck import StudyWeights
from quizapp.scheduling.planner.plan import StudyPlan, plan_today
from quizapp.scheduling.study_day import moment
from quizapp.util.text import plural
from tests.scheduling.study_kit import MORNING, question, study

NOW = moment(MORNING, 4)
TODAY = MORNING.date()
INTERVIEW = TODAY + timedelta(days=12)
TRICKY = "Größe; Maße, \\nÜbung 🎯 and a name that is far too long for one line of a calendar file"


def tricky_bank(name: str = TRICKY) -> Bank:
    questions = {f"q{n}": question(f"q{n}", topic="t") for n in range(60)}
    exercise = Exercise("lora", name, "easy", "t", 20, "lora", {}, (), Path())
    return Bank(questions, {"t": Topic("t", name, "")}, {"lora": exercise})


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> StudyPlan:
    with study(tmp_path_factory.mktemp("plan"), tricky_bank()) as learner:
        weights = StudyWeights({}, {"lora": 1.0}, code_share=0.3)
        made = plan_today(learner, INTERVIEW, weights, minutes=40)
    assert made is not None
    assert any(day.done.code for day in made.days)
    assert {day.calendar_day.rehearsal for day in made.days} == {"", "mock", "incident"}
    return made


def events(text: str) -> dict[str, dict[str, object]]:
    """The events of a calendar by id, as the library reads them."""
    return {
        str(event["UID"]): {
            "day": event.decoded("DTSTART"),
            "end": event.decoded("DTEND"),
            "stamp": event.decoded("DTSTAMP"),
            "sequence": event.decoded("SEQUENCE"),
            "summary": str(event["SUMMARY"]),
            "text": str(event["DESCRIPTION"]),
        }
        for event in Calendar.from_ical(text).walk("VEVENT")
    }


def test_each_day_says_its_minutes_and_what_to_do(plan: StudyPlan) -> None:
    bank = tricky_bank()
    read = events(calendar_text(plan, bank, NOW, "research-engineer"))
    working = [day for day in plan.days if day.minutes]
    assert len(read) == len(working) + 1
    for day in working:
        when = day.calendar_day.date
        event = read[f"study-{when:%Y%m%d}@quizapp"]
        assert (event["day"], event["end"]) == (when, when + timedelta(days=1))
        assert str(event["summary"]).startswith(f"quizapp {day.minutes} min")
        text = str(event["text"])
        assert ("quizapp drill" in text) == bool(day.done.reviews or day.done.new)
        assert (f"({TRICKY} {day.done.new})" in text) == bool(day.done.new)
        assert ("quizapp exercise lora" in text) == bool(day.done.code)
        rehearsal = day.calendar_day.rehearsal
        minutes = day.calendar_day.rehearsal_minutes
        mock = f"Mock interview, {minutes} min: quizapp mock --minutes {minutes} --role research-engineer"
        assert (mock in text) == (rehearsal == "mock")
        assert ("Incident, 15 min: quizapp incident\n" in text) == (rehearsal == "incident")
        assert text.endswith("\n\nPlanned on 2 March 2026.")
    assert read["interview@quizapp"]["day"] == INTERVIEW
    assert f"{100 * plan.recall:.0f} %" in str(read["interview@quizapp"]["text"])


def test_the_stamp_is_the_clocks_time_in_utc(plan: StudyPlan) -> None:
    stamps = {event["stamp"] for event in events(calendar_text(plan, tricky_bank(), NOW)).values()}
    assert stamps == {datetime(2026, 3, 2, 8, 0, tzinfo=UTC)}


def test_a_later_file_updates_the_events_of_an_earlier_one(plan: StudyPlan, tmp_path: Path) -> None:
    first = events(calendar_text(plan, tricky_bank(), NOW))
    moved = plan._replace(date=plan.date + timedelta(days=3))
    second = events(calendar_text(moved, tricky_bank(), moment(MORNING + timedelta(hours=1), 4)))
    assert first.keys() == second.keys()
    assert all(int(str(second[uid]["sequence"])) > int(str(first[uid]["sequence"])) for uid in first)
    assert second["interview@quizapp"]["day"] == INTERVIEW + timedelta(days=3)


def test_a_day_without_work_has_no_event(plan: StudyPlan) -> None:
    free = plan.days[0]._replace(
        calendar_day=plan.days[0].calendar_day._replace(rehearsal="", rehearsal_minutes=0),
        done=type(plan.days[0].done)(),
    )
    read = events(calendar_text(plan._replace(days=[free, *plan.days[1:]]), tricky_bank(), NOW))
    assert f"study-{TODAY:%Y%m%d}@quizapp" not in read


@settings(max_examples=25)
@given(name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120))
def test_lines_are_short_and_any_name_comes_back(plan: StudyPlan, name: str) -> None:
    text = calendar_text(plan, tricky_bank(f"x{name}x"), NOW)
    assert text.endswith("\r\nEND:VCALENDAR\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert "\r" not in text.replace("\r\n", "")
    for line in text.encode().split(b"\r\n"):
        assert len(line) <= 75
        line.decode()  # no character is cut in two
    written = {str(event["text"]) for event in events(text).values()}
    if name.isprintable() and not name.isspace():
        assert any(f"({' '.join(f'x{name}x'.split())} " in text for text in written)


def test_the_file_is_replaced_and_a_link_stays_a_link(plan: StudyPlan, tmp_path: Path) -> None:
    target, link = tmp_path / "shared.ics", tmp_path / "plan.ics"
    target.write_text("old")
    link.symlink_to(target)
    days = write_calendar(plan, link, tricky_bank(), NOW)
    assert days == sum(1 for day in plan.days if day.minutes)
    assert link.is_symlink()
    assert target.read_bytes().decode() == calendar_text(plan, tricky_bank(), NOW)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.ics", "shared.ics"]


@pytest.mark.parametrize("where", [".", "missing/plan.ics"])
def test_a_path_that_cannot_be_written_is_refused_before_planning(tmp_path: Path, where: str) -> None:
    with pytest.raises(QuizError, match=r"cannot be written: .*; name a file in a folder that exists"):
        check_calendar_path(tmp_path / where)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_writes_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.ics"
    assert main(["plan", "--date", "3 days", "--minutes", "20", "--ics", str(path)]) == 0
    read = events(path.read_bytes().decode())
    said = f"{plural(len(read) - 1, 'day')} and the interview written to {path}\n"
    assert capsys.readouterr().out == said
    assert len(read) > 1
    assert all(isinstance(event["day"], date) for event in read.values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--ics", "missing/plan.ics"], "cannot be written"), (["--ics", "plan.ics", "--json"], "not allowed")],
)
def test_a_slip_is_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["plan", "--date", "9 days", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
