"""Learners' tests, run by a real judge: what they end in, and that they harm nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.client.learner_test_client import LearnerTestClient
from quizapp.judge.verdict import ProgramOutcome

GOOD = "import torch\ndef check(m):\n    assert m.double(torch.ones(2)).sum() == 4\n"
RIGHT = "def double(x):\n    return x + x\n"
WRONG = "def double(x):\n    return x * x\n"


def exercise(slug: str) -> Exercise:
    loaded, _ = load_exercise(paths.exercises() / slug)
    assert loaded is not None
    return loaded


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[LearnerTestClient]:
    with LearnerTestClient(seconds=3.0) as ready:
        yield ready


def outcomes(client: LearnerTestClient, test: str, *programs: str) -> list[str]:
    return [run.outcome.value for run in client.run(exercise("lora"), test, programs)]


def test_a_test_tells_right_from_wrong(client: LearnerTestClient) -> None:
    runs = client.run(exercise("lora"), GOOD, [RIGHT, WRONG, RIGHT])
    assert [run.outcome for run in runs] == ["held", "failed", "held"]
    assert runs[1].text == "AssertionError in line 3 of your test"


BAD = [
    ("def check(m):\n    while True: pass\n", "timeout", "does not end within 3 s"),
    ("import os\ndef check(m):\n    os._exit(0)\n", "error", "ended the process"),
    ("def check(m):\n    raise SystemExit\n", "error", "SystemExit in line 2"),
    ("def check(m):\n    b''.ljust(1 << 40)\n", "error", "MemoryError"),
    ("import os\ndef check(m):\n    os.kill(os.getppid(), 9)\n", "", ""),
    ("def check(m:\n", "error", "SyntaxError"),
    ("check = 1\n", "error", "not callable"),
    ("x = 1\n", "error", "does not define check(m)"),
    ("def check(m):\n    return m.absent\n", "error", "AttributeError in line 2"),
    ("import inspect\ndef check(m):\n    pass\n", "error", "may not import inspect"),
    ("def check(m):\n    assert not open(m.__file__).read()\n", "held", ""),
    ("def check(m):\n    getattr(m.double, '__co' + 'de__')\n", "error", "may not look at __code__"),
    ("def check(m):\n    eval('1')\n", "error", "NameError"),
]


@pytest.mark.parametrize(("test", "outcome", "text"), BAD)
def test_a_bad_test_harms_nothing(client: LearnerTestClient, test: str, outcome: str, text: str) -> None:
    (run,) = client.run(exercise("lora"), test, [RIGHT])
    assert outcome in ("", run.outcome)
    assert text in run.text
    assert outcomes(client, GOOD, RIGHT, WRONG) == ["held", "failed"]


def test_a_program_that_cannot_be_imported_is_an_error(client: LearnerTestClient) -> None:
    (run,) = client.run(exercise("lora"), GOOD, ["import torch\nraise ValueError('no')\n"])
    assert run.outcome == ProgramOutcome.ERROR
    assert 'ValueError on import: "no"' in run.text


def test_every_rank_of_a_group_runs_the_test(client: LearnerTestClient) -> None:
    test = "import torch.distributed as dist\ndef check(m):\n    assert dist.get_rank() == 0\n"
    group = exercise("ddp-allreduce")
    (run,) = client.run(group, test, [group.solution])
    assert run.outcome == ProgramOutcome.FAILED


def test_a_test_that_is_too_large_is_refused(client: LearnerTestClient) -> None:
    with pytest.raises(QuizError, match="your test is larger than 256 KiB"):
        client.run(exercise("lora"), "#" * (257 << 10), [RIGHT])
