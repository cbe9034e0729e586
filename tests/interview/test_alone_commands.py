"""`quizapp incident` outside a terminal: the list and one run as text, neither of which tells a fault."""

import re

import pytest

from quizapp.cli.main import main
from quizapp.incidents.loader import load_library
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from tests.interview.mock_kit import solve

pytestmark = pytest.mark.slow


@pytest.fixture
def report(home) -> dict:
    with Study.open() as made:
        interview = Interview.begin_incident(made, "double-softmax", seed=1)
        interview.start()
        solve(interview)
        interview.session.submit()
        interview.session.confide(75)
        return interview.record().as_json()


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    out = capsys.readouterr()
    assert out.err == ""
    return out.out


def test_the_list_has_every_run_in_eighty_columns_and_gives_none_away(home, capsys) -> None:
    library = load_library()
    lines = shown(capsys, "incident").splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(i.name for i in library.incidents.values())
    assert all(len(line) <= 80 for line in lines)
    assert all(line.endswith("new") for line in lines)
    words = {word for line in lines for word in line.split()}
    assert not words & (set(library.incidents) | set(library.causes))
    assert not words & {incident.topic for incident in library.incidents.values()}


def test_what_was_sat_stands_last_with_its_marks_and_not_among_interviews(report, capsys) -> None:
    last = shown(capsys, "incident").splitlines()[-1]
    name = load_library().incidents["double-softmax"].name
    assert last.split()[0] == name
    assert last.endswith(f" {report['totals']['raw']}")
    assert load_library().incidents["double-softmax"].topic in last.split()
    assert "no mock interview yet" in shown(capsys, "mock", "list")
    assert shown(capsys, "mock", "report", report["id"]).startswith("# Incident: ")
    text = shown(capsys, "incident", name)
    assert f"{report['totals']['raw']} of 100: quizapp mock report {report['id']}" in text


def test_one_run_is_told_with_the_prices_of_its_readings_but_without_what_they_show(home, capsys) -> None:
    one = load_library().incidents["double-softmax"]
    text = shown(capsys, "incident", "double-softmax")
    flat = " ".join(text.split())
    assert " ".join(one.setup.split()) in flat
    assert " ".join(one.symptom.split()) in flat
    offered = [load_library().readings[name] for name in one.readings]
    assert all(
        re.search(rf"^ *{row.seconds} s  {re.escape(row.title)}", text, re.MULTILINE) for row in offered
    )
    assert "0.0513" not in text  # a number that only a reading shows
    assert one.id not in text
    assert load_library().causes[one.cause].text not in text
    assert f"quizapp incident {one.name}" in text
    assert shown(capsys, "incident", one.name) == text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("doubel-softmax", "did you mean 'double-softmax'"),
        (
            "a-loss",
            (
                "several names begin with it: a-loss-that-does-not-move-a-digit, "
                "a-loss-that-settles-far-too-high"
            ),
        ),
        ("zzz", "'quizapp incident | cat' lists them"),
    ],
)
def test_an_unknown_run_is_one_line_with_those_near_to_it(home, capsys, typed: str, said: str) -> None:
    assert main(["incident", typed]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.splitlines()) == 1
    assert typed in out.err
    assert said in out.err


def test_completion_offers_the_runs(capsys) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "$(quizapp incident" in shown(capsys, "completion", shell) or shell == "fish"
        assert "quizapp incident 2>/dev/null" in shown(capsys, "completion", shell)


def test_a_live_run_in_a_pipe_names_its_script_and_never_its_fault(home, capsys) -> None:
    one = load_library().incidents["double-softmax"]
    text = shown(capsys, "incident", one.name, "--live")
    path = home / "live" / one.name / "run.py"
    assert str(path) in text
    assert compile(path.read_text(), "run.py", "exec")
    assert load_library().causes[one.cause].text not in text
    assert one.id not in text.replace(one.name, "")
    path.write_text("# mine\n")
    shown(capsys, "incident", one.name, "--live")
    assert path.read_text() == "# mine\n"


@pytest.mark.parametrize("arguments", [("--live",), ("nan-row", "--live")])
def test_what_cannot_be_sat_live_is_said_in_one_line(home, capsys, arguments) -> None:
    library = load_library()
    if len(arguments) > 1 and library.incidents[arguments[0]].live is not None:
        name = next((one.id for one in library.incidents.values() if one.live is None), None)
        if name is None:
            pytest.skip("every run has a live form")
        arguments = (name, "--live")
    assert main(["incident", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
