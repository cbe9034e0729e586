"""The examiner: what looks at a submission's source and evidence can be ended, and the judge goes on."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quizapp.judge.server.examiner import Examiner, PrepareRequest, RefusedReply
from tests.judge.field import DATA

pytestmark = [pytest.mark.judge, pytest.mark.slow]

HIDDEN = """
from quizapp.judge.testing.checks import behaviour

@behaviour(1)
def test_blend(observe):
    value = observe["value"]
    if value == "endless in C":
        10 ** 10 ** 10
    if value == "memory":
        bytearray(1 << 34)
    if value == "crash":
        import os, signal
        os.kill(os.getpid(), signal.SIGSEGV)
    assert value == "right"
"""

SCRIPT = """
import json, sys
from quizapp.judge.server import examiner
from quizapp.judge.server.examiner import *
from quizapp.judge.server.examiner_link import ExaminerLink, ExaminerLost, ExaminerOverrun
from quizapp.judge.worker.job import WorkerAnswer
from quizapp.judge.worker.transcript import encode

class Pool:
    helpers = set()
    def start_helper(self, start):
        return start()

examiner.SECONDS = 0
link = ExaminerLink(Pool())
folder = sys.argv[1]

def grade(session, value, source=b"x = 1"):
    try:
        link.ask(PrepareRequest(session, folder, source, "cpu", [5]), PreparedGrade)
        transcript = encode(WorkerAnswer("nonce", {"value": value}).as_message())
        group = RunTranscripts(0, "nonce", [transcript], ("value",), "/none")
        link.ask(EvidenceRequest(session, [group]), EvidenceReply)
        (result,) = link.ask(TestRequest(session, [0]), TestReply).results
    except ExaminerLost as error:
        return type(error).__name__, ""
    return result.status, "; ".join(test.message for test in result.tests)

def other_session(value):
    link.ask(PrepareRequest("other", folder, b"x = 1", "cpu", [5]), PreparedGrade)
    grade("guilty", value)
    try:
        link.ask(TestRequest("other", [0]), TestReply)
    except ExaminerLost as error:
        return type(error).__name__, ""

done = {}
for case in sys.argv[2:]:
    dotted = b"import torch\\nif 0:\\n from " + b"a." * 60_000 + b"a import b\\n"
    if case == "source":
        done[case] = grade(case, "right", dotted)
    elif case == "innocent":
        done[case] = other_session("crash")
    else:
        done[case] = grade(case, case)
link.close()
print(json.dumps(done))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the examiner makes of each case, one after the other."""
    folder = tmp_path_factory.mktemp("exercises") / "blend"
    shutil.copytree(DATA / "blend", folder)
    shutil.rmtree(folder / "hidden")
    (folder / "hidden").mkdir()
    (folder / "hidden" / "test_blend.py").write_text(HIDDEN, encoding="utf-8")
    cases = ("wrong", "memory", "source", "endless in C", "innocent", "right")
    outcomes: dict[str, list[str]] = json.loads(
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder), *cases],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        ).stdout
    )
    return outcomes


def test_the_examiner_judges_evidence(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["right"][0] == "passed"
    assert outcomes["wrong"][0] == "failed"


def test_memory_is_limited_and_ends_in_a_sentence(outcomes: dict[str, list[str]]) -> None:
    status, message = outcomes["memory"]
    assert status == "failed"
    assert "took too much memory" in message


def test_a_source_that_parsing_would_blow_up_ends_in_a_sentence(outcomes: dict[str, list[str]]) -> None:
    status, message = outcomes["source"]
    assert status == "failed"
    assert "too large to check" in message


def test_a_call_into_c_is_ended(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["endless in C"] == ["ExaminerOverrun", ""]


def test_another_session_is_lost_but_not_blamed(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["innocent"] == ["ExaminerLost", ""]


BROKEN = {
    "raises": (
        "probes.py",
        "\nraise RuntimeError('boo\\x1b[31m')\n",
        r"probes\.py:\d+: .*RuntimeError: boo\\x1b",
    ),
    "exits": ("hidden/test_blend.py", "\nraise SystemExit(0)\n", r"test_blend\.py:\d+: .*SystemExit: 0"),
    "syntax": ("hidden/test_blend.py", "\ndef (:\n", r"test_blend\.py:\d+: .*SyntaxError: invalid syntax"),
    "inputs": ("probes.py", "\ndef inputs(draw):\n    raise SystemExit(1)\n", r"probes\.py:\d+: its inputs"),
    "number": ("hidden/test_z.py", "def test_z(observe): ...\ntest_z.behaviour = 'x'\n", "not a number"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_code_of_an_exercise_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    file, text, message = BROKEN[name]
    folder = shutil.copytree(DATA / "blend", tmp_path / "blend")
    with (folder / file).open("a", encoding="utf-8") as stream:
        stream.write(text)
    request = PrepareRequest("session", str(folder), b"", "cpu", [1, 2])
    reply = Examiner().answer(request)
    assert isinstance(reply, RefusedReply)
    assert re.search(message, reply.text), reply.text
    assert "\n" not in reply.text


def test_a_pipe_in_place_of_a_hidden_test_is_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(DATA / "blend", tmp_path / "blend")
    os.mkfifo(folder / "hidden" / "test_pipe.py")
    reply = Examiner().answer(PrepareRequest("session", str(folder), b"", "cpu", [1]))
    assert isinstance(reply, RefusedReply)
    assert "is not a regular file" in reply.text
