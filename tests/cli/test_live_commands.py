"""A live incident from an editor of the learner's own: the script is written, run and handed in."""

import json
from pathlib import Path

import pytest

from quizapp.incidents.live.live_program import LiveProgram
from quizapp.incidents.loader import load_library
from tests.cli.calling import run

INCIDENT = "huge-lr"


@pytest.fixture(scope="module")
def program() -> LiveProgram:
    return LiveProgram(load_library().incidents[INCIDENT])


@pytest.fixture
def name() -> str:
    """Its name, which gives less away than its id."""
    return load_library().incidents[INCIDENT].name


def test_the_broken_script_is_written_once_and_never_over_a_file(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path, name: str, program: LiveProgram
) -> None:
    code, out, _ = run(capsys, "incident", name, "--live", "--write")
    path = home / "exercises" / "live" / f"{name}.py"
    assert (code, path.read_text()) == (0, program.broken)
    assert f"--live --run {path}" in out
    path.write_text("mine = 1\n")
    code, _, err = run(capsys, "incident", name, "--live", "--write")
    assert (code, path.read_text()) == (2, "mine = 1\n")
    assert "nothing overwrites it" in err
    other = tmp_path / "with blank.py"
    assert f"--hand-in '{other}'" in run(capsys, "incident", name, "--live", "--write", str(other))[1]
    assert other.read_text() == program.broken


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--run",), "--run belongs to a live incident"),
        (("--live", "--run", "--hand-in"), "--run and --hand-in are different steps"),
        (("--live", "--run", "--steps", "0"), "--steps takes 1 to 256 here, not 0"),
        (("--live", "--hand-in", "--steps", "3"), "--steps and --seed belong to --run"),
        (("--live", "--write", "--json"), "--json belongs to --run and --hand-in"),
        (("--live", "--run", "/nowhere.py"), "/nowhere.py cannot be read"),
    ],
)
def test_wrong_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], home: Path, name: str, arguments: tuple[str, ...], says: str
) -> None:
    run(capsys, "incident", name, "--live", "--write")
    code, out, err = run(capsys, "incident", name, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_an_empty_file_is_not_measured_as_the_script_that_it_replaced(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path, name: str
) -> None:
    empty = tmp_path / "run.py"
    empty.write_text("\n")
    code, _, err = run(capsys, "incident", name, "--live", "--hand-in", str(empty))
    assert (code, f"{empty} is empty" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.judge
@pytest.mark.usefixtures("warm_judge")
def test_a_run_prints_the_log_and_says_how_it_ended(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path, name: str, program: LiveProgram
) -> None:
    path = tmp_path / "run.py"
    path.write_text(program.broken)
    code, out, err = run(
        capsys, "incident", name, "--live", "--run", str(path), "--steps", "2", "--seed", "9"
    )
    assert (code, [line.split("  ")[0] for line in out.splitlines()]) == (0, ["step 0", "step 1"])
    assert err.startswith("run.py --steps 2 --seed 9 ended after")
    path.write_text("1 / 0\n")
    code, out, _ = run(capsys, "incident", name, "--live", "--run", str(path), "--json")
    assert (code, json.loads(out)["outcome"]) == (1, "failed")
    assert "ZeroDivisionError" in json.loads(out)["text"]


@pytest.mark.slow
@pytest.mark.judge
@pytest.mark.usefixtures("warm_judge")
def test_a_hand_in_is_measured_and_the_exit_code_says_whether_it_is_repaired(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path, name: str, program: LiveProgram
) -> None:
    path = tmp_path / "run.py"
    path.write_text(program.broken)
    code, out, _ = run(capsys, "incident", name, "--live", "--hand-in", str(path))
    assert (code, out.startswith("Not repaired: The script was handed in as it was")) == (1, True)
    path.write_text(program.healthy)
    code, out, _ = run(capsys, "incident", name, "--live", "--hand-in", str(path), "--json")
    found = json.loads(out)
    assert (code, found["repaired"], len(found["checks"])) == (0, True, 3)
    assert (found["incident"], found["nodes"]) == (name, 1)
