"""What a clean interpreter loads: the layers of the design, proved at run time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "torch",
    "distributed",
    "textual",
    "rich",
    "yaml",
    "numpy",
    "hypothesis",
    "shtab",
    "msgspec",
    "mcp",
    "aiohttp",
}


def loaded(code: str, home: Path) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after ``code``."""
    listing = "json.dumps(sorted({m.split('.')[0] for m in sys.modules}))"
    script = f"import sys, json\n{code}\nprint(); print({listing})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "QUIZAPP_HOME": str(home)},
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("quizapp", set()),
        ("quizapp.cli.main", set()),
        ("quizapp.cli.parser", set()),
        ("quizapp.bank.loader", set()),
        ("quizapp.bank.parameters", set()),
        ("quizapp.bank.validate", {"yaml"}),
        ("quizapp.store.event_log", set()),
        ("quizapp.scheduling.service", set()),
        ("quizapp.scheduling.planner.plan", set()),
        ("quizapp.judge", set()),
        ("quizapp.judge.client.one_shot", set()),
        ("quizapp.bank.render", set()),
        ("quizapp.exchange.tutor.card_session", set()),
        ("quizapp.exchange.tutor.exercise_coach", set()),
        ("quizapp.cli.servers", set()),
        ("quizapp.cli.cohort", set()),
        ("quizapp.judge.cohort.grading_run", set()),
        ("quizapp.tui.app", {"textual", "rich"}),
    ],
)
def test_import_loads_nothing_above_its_layer(module: str, allowed: set[str], home: Path) -> None:
    assert loaded(f"import {module}", home) & HEAVY <= allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["grade", "--help"],
        ["due", "--json"],
        ["stats", "--json"],
        ["questions"],
        ["show", "lr-warmup"],
    ],
    ids=" ".join,
)
def test_command_loads_neither_textual_nor_torch(arguments: list[str], home: Path) -> None:
    call = f"from quizapp.cli.main import main\nmain({arguments!r})"
    loaded(call, home)  # the first run writes the bank's cache
    seen = loaded(call, home) & HEAVY
    assert seen == set(), f"{arguments} loads {seen}"


@pytest.mark.slow
def test_planning_loads_neither_textual_nor_torch_nor_numpy(home: Path) -> None:
    call = (
        "from datetime import timedelta\nfrom quizapp.cli.main import main\n"
        "from quizapp.scheduling.study_day import *\n"
        "day = as_date(moment(SystemClock().now(), 4).day) + timedelta(days=3)\n"
        "assert main(['plan', '--date', str(day), '--minutes', '15']) == 0"
    )
    assert loaded(call, home) & HEAVY <= {"yaml", "msgspec"}  # the roles and the reports of interviews


@pytest.mark.slow
def test_answering_loads_neither_textual_nor_torch(home: Path) -> None:
    call = "from quizapp.cli.main import main\nassert main(['answer', 'lr-warmup', 'good']) == 0"
    loaded(call, home)
    assert loaded(call, home) & HEAVY == set()
