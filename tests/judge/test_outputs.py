"""Hints, JUnit, text reports and what is kept of a submission's output."""

import json
import re
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from quizapp.errors import QuizError
from quizapp.judge import grade
from quizapp.judge.render.junit import write_junit
from quizapp.judge.render.text import verdict_text
from quizapp.judge.server.workers.collector import PRINTED_HEAD as HEAD
from quizapp.judge.server.workers.collector import PRINTED_TAIL as TAIL
from quizapp.judge.server.workers.collector import PrintedOutput, line_in, read_stack
from quizapp.judge.verdict import StageResult, TestResult, Verdict, VerdictStatus, ordered_hints
from quizapp.util.sanitize import escape_unprintable
from tests.judge.field import DATA, exercise

FAILED = Verdict(
    "blend",
    "blend.py",
    "cpu",
    VerdictStatus.FAILED,
    (
        TestResult("blend", 1, passed=True),
        TestResult("gradients", 2, passed=False, message="The gradient of w is wrong. \x00<&>"),
    ),
    0.5,
    7,
    "T2",
    printed="hello\n" * 50,
)


def test_hints_for_what_fails_come_first_and_each_once() -> None:
    blend = exercise("blend")
    order = ordered_hints(blend, FAILED)
    assert order[0] == "Keep every step differentiable."
    assert sorted(order) == sorted(hint.text for hint in blend.hints)


def test_hints_without_a_verdict_keep_their_order() -> None:
    blend = exercise("blend")
    assert ordered_hints(blend) == [hint.text for hint in blend.hints]


def test_junit_counts_and_survives_odd_characters(tmp_path: Path) -> None:
    broken = Verdict(
        "blend", "b.py", "cpu", VerdictStatus.TIMEOUT, error="Your code did not finish within 2 s."
    )
    write_junit(tmp_path / "out.xml", [FAILED, broken])
    suites = ET.parse(tmp_path / "out.xml").getroot().findall("testsuite")
    assert [(s.get("tests"), s.get("failures"), s.get("errors")) for s in suites] == [
        ("2", "1", "0"),
        ("1", "0", "1"),
    ]
    failure = suites[0].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "The gradient of w is wrong. ?<&>"


def test_junit_and_report_show_the_stages(tmp_path: Path) -> None:
    tests = (
        TestResult("blend", 1, passed=True, stage="core"),
        TestResult("refuses", 4, passed=False, message="Wrong.", stage="robust"),
    )
    staged = replace(FAILED, tests=tests, stages=(StageResult("core", True), StageResult("robust", False)))
    write_junit(tmp_path / "out.xml", [staged])
    cases = ET.parse(tmp_path / "out.xml").getroot().findall("testsuite/testcase")
    assert [case.get("classname") for case in cases] == ["quizapp.blend.core", "quizapp.blend.robust"]
    assert "✓ core   ✗ robust" in verdict_text(staged, exercise("blend"))


def test_a_verdict_stored_before_there_were_stages_is_read() -> None:
    stored = json.loads(json.dumps(FAILED.as_json()))
    del stored["stages"]
    for test in stored["tests"]:
        del test["stage"]
    assert Verdict.from_json(stored) == FAILED


def test_junit_to_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QuizError, match="cannot be written"):
        write_junit(tmp_path / "none" / "out.xml", [FAILED])


def test_report_tells_behaviour_reason_output_and_seed() -> None:
    text = verdict_text(FAILED, exercise("blend"))
    for part in (
        "failed: 1 of 2 tests",
        "The gradient of blend reaches",
        "The gradient of w is wrong",
        "--seed 7",
        "isolation T2: shut off from the network and your files",
    ):
        assert part in text
    assert "more lines" in text


def test_report_fits_the_width_asked_for() -> None:
    text = verdict_text(FAILED, exercise("blend"), 44)
    assert max(len(line) for line in text.splitlines() if "|" not in line) <= 44

    def told(shown: str) -> list[str]:
        # What holds takes one line, which is cut where it is too long.
        return [word for line in shown.splitlines() if not line.startswith("  ✓") for word in line.split()]

    assert told(text) == told(verdict_text(FAILED, exercise("blend")))


def test_report_names_each_behaviour_that_holds_in_one_line_and_colors_only_on_demand() -> None:
    plain = verdict_text(FAILED, exercise("blend"), 60)
    held = [line for line in plain.splitlines() if line.startswith("  ✓")]
    behaviours = {test.behaviour for test in FAILED.tests if test.behaviour}
    broken = {test.behaviour for test in FAILED.tests if not test.passed}
    assert len(held) == len(behaviours - broken) == 1
    assert "\x1b" not in plain
    colored = verdict_text(FAILED, exercise("blend"), 60, color=True)
    assert "\x1b[32m" in colored
    assert "\x1b[1;31m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_output_keeps_head_and_tail_in_bounded_memory() -> None:
    printed = PrintedOutput()
    for number in range(20_000):
        printed.add(f"line {number}\n".encode())
    text = printed.text()
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 19999\n")
    assert "more bytes" in text
    assert len(text) < HEAD + TAIL + 100


def test_short_output_is_kept_whole() -> None:
    printed = PrintedOutput()
    printed.add(b"a" * HEAD)
    printed.add(b"b" * TAIL)
    assert printed.text() == "a" * HEAD + "b" * TAIL


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain [bold]", "plain [bold]"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\x9b", "\\x9b"),
        ("line\r\nnext\tx", "line\nnext\tx"),
        ("over\rwritten", "over\\x0dwritten"),
        ("α ≤ 😀", "α ≤ 😀"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_control_characters_become_visible(raw: str, shown: str) -> None:
    assert escape_unprintable(raw) == shown


def test_the_line_comes_from_the_main_thread_first() -> None:
    stack = (
        'Thread 0x1 (most recent call first):\n  File "/tmp/x/lora.py", line 3 in worker\n\n'
        'Current thread 0x2 (most recent call first):\n  File "/usr/lib/threading.py", line 9 in join\n'
        '  File "/tmp/x/lora.py", line 12 in forward\n'
    )
    assert line_in(stack, "lora.py") == 12
    assert line_in(stack, "other.py") == 0
    assert line_in("", "lora.py") == 0


def test_a_stack_that_is_still_being_written_is_read_to_the_users_line(tmp_path: Path) -> None:
    path = tmp_path / "stack0"
    parts = [
        "Current thread 0x2 (most recent call first):\n",
        '  File "/usr/lib/torch/nn/module.py", line 9 in call\n  File "/tmp/x/lo',
        'ra.py", line 12 in for',
        "ward\n",
    ]

    def write() -> None:
        for part in parts:
            time.sleep(0.02)
            with path.open("a") as stream:
                stream.write(part)

    writer = threading.Thread(target=write)
    writer.start()
    assert line_in(read_stack(path, "lora.py", 30.0), "lora.py") == 12
    writer.join()


def test_a_stack_that_never_comes_is_given_up(tmp_path: Path) -> None:
    assert read_stack(tmp_path / "none", "lora.py", 0.01) == ""


def test_what_the_judge_keeps_never_reaches_the_submission(tmp_path: Path) -> None:
    folder = tmp_path / "blend"
    shutil.copytree(DATA / "blend", folder)
    probes = folder / "probes.py"
    text = probes.read_text(encoding="utf-8")
    probe = "\n\ndef probe_spy(code, given, record):\n    print(sorted(given))\n"
    text = text.replace("    return {\n", '    return {\n        "kept": "the answer",\n')
    probes.write_text(text + probe, "utf-8")
    test = "\n\n@behaviour(1)\ndef test_kept(observe):\n    assert observe.given['kept'] == 'the answer'\n"
    with (folder / "hidden" / "test_blend.py").open("a", encoding="utf-8") as stream:
        stream.write(test)
    solution = (folder / "solution.py").read_bytes()
    verdict = grade(exercise("blend", tmp_path), solution, device="cpu", timeout=50)
    assert verdict.passed, verdict
    assert "'cases'" in verdict.printed
    assert "kept" not in verdict.printed
