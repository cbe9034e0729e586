"""What an installation without torch can do, and what it says about the rest.

The tests run a real interpreter in an environment that has every package of this one but torch.
"""

import json
import subprocess
import sysconfig
import venv
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from quizapp import paths

ROOT = Path(__file__).parents[2]
WARMUP = ROOT / "exercises" / "warmup"
# Runs each command in one process, because an interpreter per command would take most of the time.
RUN_ALL = """
import contextlib, io, json, sys
from quizapp.cli.main import main
for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
assert "torch" not in sys.modules
"""
GRADE_IN_THE_APP = """
import asyncio
from quizapp.tui.app import QuizApp
from tests.tui.drawn import text
from tests.tui.waiting import opened, until

async def main():
    app = QuizApp("exercise", slug="warmup")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        for _ in range(2):
            await pilot.press("ctrl+r")
            await until(pilot, lambda: "which is not installed" in text(app))
            await pilot.pause()
        print([notice.message for notice in app._notifications if "torch" in notice.message])
        print(text(app))
        await pilot.press("f3", "x")
        await until(pilot, lambda: app.focused is not None)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter whose environment lacks torch and nothing else."""
    folder = tmp_path_factory.mktemp("without-torch")
    venv.EnvBuilder(symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(("torch", "functorch", "__pycache__")):
            (packages / package.name).symlink_to(package)
    return folder / "bin" / "python"


def pip(python: Path) -> str:
    """The beginning of a command that installs into the environment, which lacks pip where this one does."""
    return f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"


def run_all(python: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of each command."""
    done = subprocess.run(
        [python, "-c", RUN_ALL], input=json.dumps(commands), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_everything_that_grades_names_the_command_that_installs_torch(python: Path, tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps({"decision": "correct", "confidence": 75}))
    solution = str(WARMUP / "solution.py")
    commands = [
        ["grade", "warmup", solution],
        ["grade", "warmup", solution, "--json"],
        ["grade", "warmup", str(WARMUP / "right"), "--json"],
        ["check", str(WARMUP)],
        ["review", "adamw", "--seed", "1", "--answer", str(answer)],
        ["exercise", "adamw", "--faults", "2"],
        ["mock", "--round", "coding"],
        ["mock", "--round", "review"],
    ]
    sentence = f" needs torch, which is not installed; install it with: {pip(python)} "
    for command, (code, out, err) in zip(commands, run_all(python, *commands), strict=True):
        assert (code, out) == (2, ""), (command, code, out, err)
        assert err.count("\n") == 1, (command, err)
        assert err.endswith(f"{sentence}'quizapp-ml[judge]'\n"), (command, err)


@pytest.mark.slow
def test_everything_else_works(python: Path, tmp_path: Path) -> None:
    question = json.loads(run_all(python, ["questions", "--json"])[0][1])[0]["id"]
    commands = [
        [],
        ["due"],
        ["questions"],
        ["show", question],
        ["answer", question, "good"],
        ["stats"],
        ["exercise"],
        ["exercise", "warmup"],
        ["review", "adamw", "--seed", "1"],
        ["incident"],
        ["plan", "--date", str(datetime.now(UTC).date() + timedelta(days=2))],
        ["mock", "list"],
        ["export", "markdown", str(tmp_path / "book")],
        ["export", "json", str(tmp_path / "log.json")],
    ]
    for command, (code, out, err) in zip(commands, run_all(python, *commands), strict=True):
        assert (code, err) == (0, ""), (command, code, out, err)


def test_the_doctor_finds_nothing_wrong(python: Path) -> None:
    ((code, out, _),) = run_all(python, ["doctor"])
    assert code == 0, out
    lines = {line[5:].split()[0]: line for line in out.splitlines()}
    assert lines["torch"].startswith("--   torch ")
    assert lines["torch"].endswith(f"install it with: {pip(python)} 'quizapp-ml[judge]'")
    assert lines["fitting"].startswith(("ok   ", "--   "))
    assert lines["devices"].endswith("not looked for without torch")


@pytest.mark.slow
def test_the_exercise_screen_says_it_and_goes_on(python: Path) -> None:
    done = subprocess.run(
        [python, "-c", GRADE_IN_THE_APP], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    notices, *screen = done.stdout.splitlines()
    assert notices == "[]", "the verdict pane says it; a notice would say it again at each save"
    assert "needs torch" in " ".join(screen)
    assert not paths.log_file().exists(), "no judge was started"
