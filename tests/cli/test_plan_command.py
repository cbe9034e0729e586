"""`quizapp plan` as a person meets it: the verdict, the days, its faults."""

import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from quizapp.cli.main import main
from quizapp.scheduling.study_day import SystemClock, as_date, moment

pytestmark = pytest.mark.slow


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["plan", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def day(number: int) -> date:
    """The study day so many days from today."""
    return as_date(moment(SystemClock().now(), 4).day) + timedelta(days=number)


def suspend_all(home: Path) -> None:
    from quizapp.scheduling.service import Study

    with Study.open() as study:
        for name in study.bank.questions:
            study.suspend(name)


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_the_text_begins_with_the_verdict_and_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, err = run(capsys, "--date", str(day(9)), "--minutes", "40", "--role", "research-engineer")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "Interview on" in lines[0]
    verdict = re.search(
        r"Expected recall on the day: (\d+) % \(80 % interval (\d+)-(\d+)\)", " ".join(out.split())
    )
    assert verdict
    low, high = int(verdict[2]), int(verdict[3])
    assert low <= int(verdict[1]) <= high
    assert "Ways out:" in out
    assert "desired_retention" in out or "fit the plan" in out or "above the first [table]" in out
    assert "new  code and rehearsal (min)" in out
    # the path of the settings file is printed whole
    assert all(len(line) <= min(columns, 100) for line in lines if "config.toml" not in line)
    rows = [line for line in lines if re.match(r"[A-Z][a-z]{2} [ \d]\d [A-Z][a-z]{2} ", line)]
    assert len(rows) == 10
    assert rows[-1].endswith("the interview")


def test_weeks_take_a_line_each_only_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--date", str(day(21)), "--minutes", "15", "--weeks")[1]
    rows = [line for line in out.splitlines() if re.match(r"[A-Z][a-z]{2} [ \d]\d [A-Z][a-z]{2} ", line)]
    assert 4 <= len(rows) <= 5
    assert "2 mocks" in out or "mock" in out


def test_json_holds_the_days_and_agrees_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--date", str(day(10)), "--minutes", "30", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["schema"] == "quizapp.plan/1"
    assert found["date"] == str(day(10))
    assert [row["date"] for row in found["calendar"]] == [str(day(n)) for n in range(10)]
    assert found["recall"]["low"] <= found["recall"]["expected"] <= found["recall"]["high"]
    assert [way["kind"] for way in found["ways"]] == ["time", "drop", "accept"]
    assert all(row["minutes"] <= row["available"] + 6 for row in found["calendar"])
    assert {row["rehearsal"]["kind"] for row in found["calendar"] if row["rehearsal"]} == {"mock", "incident"}
    seen = sum(row["new"] for row in found["calendar"]) / found["questions"]["total"]
    assert found["questions"]["seen"] == pytest.approx(seen, abs=0.02)
    assert run(capsys, "--date", str(day(10)), "--minutes", "30", "--json")[1] == out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--date"),
        (["--date", "tomorrow"], "'tomorrow' is not a day; write one such as 2026-12-24"),
        (["--date", "2026-02-30"], "is not a day"),
        (["--date", "2020-01-01"], "that is past"),
        (["--date", str(day(0))], "that is today"),
        (["--date", str(day(366))], "at most 365 days"),
        (["--date", str(day(9)), "--minutes", "0"], "from 1 to 720"),
        (["--date", str(day(9)), "--minutes", "-5"], "minutes"),
        (["--date", str(day(9)), "--minutes", "100000"], "from 1 to 720"),
        (["--date", str(day(9)), "--role", "astronaut"], "astronaut"),
    ],
)
def test_a_slip_is_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_the_furthest_and_the_nearest_day_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(json.loads(run(capsys, "--date", str(day(1)), "--minutes", "5", "--json")[1])["calendar"]) == 1
    assert run(capsys, "--date", str(day(1)), "--minutes", "5")[0] == 0


def test_the_day_before_more_time_is_a_way_and_no_target_is_advised_that_the_settings_refuse(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    out = run(capsys, "--date", str(day(1)), "--minutes", "15")[1]
    time = re.search(r"even (\d+) more minutes a day give only (\d+) %", " ".join(out.split()))
    assert time
    assert int(time[2]) > 0
    assert "target =" not in out
    out = run(capsys, "--date", str(day(6)), "--minutes", "120")[1]
    advised = re.search(r"target = [\d.]+", out)
    assert advised
    (home / "config.toml").write_text(f"[plan]\n{advised[0]}\n")
    out = run(capsys, "--date", str(day(6)), "--minutes", "120")[1]
    assert "on target" in out
    assert "ways out" not in out


def test_without_cards_a_sentence_says_so(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    suspend_all(home)
    code, out, _ = run(capsys, "--date", str(day(9)))
    assert code == 0
    assert out == "nothing to plan: there are no cards, or all are suspended\n"
    assert json.loads(run(capsys, "--date", str(day(9)), "--json")[1]) is None


def test_minutes_and_days_off_come_from_the_settings_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    free, short = day(2), day(3)
    text = (
        (f'[plan]\nminutes = 40\ntarget = 0.5\ndays_off = ["{free:%a}"]\n{short:%a} = 10\n')
        .replace(f"{free:%a}", f"{free:%a}".lower())
        .replace(f"{short:%a} =", f"{short:%a} =".lower())
    )
    (home / "config.toml").write_text(text)
    found = json.loads(run(capsys, "--date", str(day(6)), "--json")[1])
    available = [row["available"] for row in found["calendar"]]
    assert available == [40, 40, 0, 10, 40, 20]
    assert found["calendar"][2]["reviews"] == found["calendar"][2]["new"] == 0
    assert found["target"] == 0.5
    given = json.loads(run(capsys, "--date", str(day(6)), "--minutes", "20", "--json")[1])
    assert [row["available"] for row in given["calendar"]] == [20, 20, 0, 20, 20, 10]
    out = run(capsys, "--date", str(day(6)))[1]
    assert re.search(r"free$", out, re.MULTILINE)
    assert (home / "config.toml").read_text() == text


def test_minutes_follow_from_the_limits_where_nothing_is_set(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    out = run(capsys, "--date", str(day(4)))[1]
    assert "65 minutes a day" in out
    assert "--minutes" in out
    (home / "config.toml").write_text("new_per_day = 5\n")
    assert "15 minutes a day" in run(capsys, "--date", str(day(4)))[1]


def test_the_settings_of_the_plan_silence_its_advice(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    arguments = ("--date", str(day(8)), "--minutes", "30")
    out = run(capsys, *arguments)[1]
    assert str(home / "config.toml") in out
    advised = re.findall(r"^    (\w+ = [\d.]+)$", out, re.MULTILINE)
    assert advised
    wanted = json.loads(run(capsys, *arguments, "--json")[1])["settings"]
    assert {line.split(" = ")[0] for line in advised} <= set(wanted)
