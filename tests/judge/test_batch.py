"""A folder of submissions: every file gets exactly one verdict, whatever it is called and contains."""

import contextlib
import json
import os
import socket
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from quizapp.bank.model import Exercise
from quizapp.cli.main import main
from quizapp.errors import QuizError
from quizapp.judge.client import batch
from quizapp.judge.client.batch import grade_folder, submissions_in
from quizapp.judge.protocol import messages
from quizapp.judge.protocol.messages import GradeReply, ReplyKind
from quizapp.judge.verdict import Verdict, VerdictStatus
from tests.judge.field import exercise


class InstantJudge:
    """Stands in for the judge's process: passes every source, and fails by itself or dies on some."""

    pid = 0
    returncode = 0

    def __init__(self) -> None:
        self.connection, self._theirs = socket.socketpair()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._theirs:
            while (request := messages.receive_request(self._theirs)) is not None:
                order = request.order
                assert order is not None
                if b"kill the judge" in order.source:
                    self.returncode = -9
                    return
                if b"stop the judge" in order.source:
                    self.returncode = 1
                    return
                verdict = Verdict("blend", order.file, "cpu", VerdictStatus.PASSED)
                reply = GradeReply(ReplyKind.VERDICT, request.ticket, verdict)
                if b"break the judge" in order.source:
                    reply = GradeReply(ReplyKind.BROKEN, request.ticket, text="a traceback")
                if b"refuse" in order.source:
                    reply = GradeReply(ReplyKind.REFUSED, request.ticket, text="no such thing", exit_code=2)
                if b"slow" in order.source:
                    threading.Timer(0.1, self._send, (reply,)).start()
                else:
                    self._send(reply)

    def _send(self, reply: GradeReply) -> None:
        with contextlib.suppress(OSError):  # dead by now
            messages.send(self._theirs, reply)

    def wait(self, timeout: float | None = None) -> int:
        del timeout
        return 0


@pytest.fixture
def instant_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(**_: str) -> tuple[InstantJudge, socket.socket]:
        judge = InstantJudge()
        return judge, judge.connection

    monkeypatch.setattr(batch, "start_judge", start)


@pytest.fixture(scope="module")
def blend() -> Exercise:
    return exercise("blend")


GOOD = b"x = 1\n"
LATIN = b"# \xe4\n"
CONTENTS = {
    "a_latin.py": LATIN,
    "b_latin.py": LATIN,
    "c good.py": GOOD,
    "d_empty.py": b"",
    "e_huge.py": b"#" * (300 << 10),
    "f_zero.py": b"x = 1\0",
    "g\nline.py": GOOD,
    "-h --json.py": GOOD,
    "ï ✓ [red].py": GOOD,
    ".hidden.py": GOOD,
    "j_breaks.py": b"# break the judge\n",
    "k\x1b[31m.py": GOOD,
    "z_latin.py": LATIN,
}
READABLE = {name for name, content in CONTENTS.items() if content in (GOOD, b"")}


@pytest.fixture
def odd_folder(tmp_path: Path) -> Path:
    """Files of every kind that a folder of submissions can have."""
    folder = tmp_path / "x.py"  # named like a file
    folder.mkdir()
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    with open(os.fsencode(folder) + b"/l\xff.py", "wb") as stream:  # noqa: PTH123 - not UTF-8
        stream.write(GOOD)
    (folder / "m_folder.py").mkdir()
    (folder / "n_nowhere.py").symlink_to(folder / "none")
    (folder / "o_again.py").symlink_to(folder / "c good.py")
    os.mkfifo(folder / "p_pipe.py")
    (folder / "notes.txt").write_bytes(GOOD)
    return folder


PASSED = {*READABLE, "l\udcff.py", "o_again.py"}
FAILED = {*CONTENTS.keys() - READABLE, "m_folder.py", "n_nowhere.py", "p_pipe.py"}


@pytest.mark.usefixtures("instant_judge")
@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
def test_every_file_gets_exactly_one_verdict(blend: Exercise, odd_folder: Path, jobs: int) -> None:
    verdicts = list(grade_folder(blend, odd_folder, jobs=jobs))
    names = Counter(Path(verdict.file).name for verdict in verdicts)
    assert names == Counter({*PASSED, *FAILED})
    assert {Path(v.file).name for v in verdicts if v.passed} == PASSED
    assert all(verdict.error for verdict in verdicts if not verdict.passed)


@pytest.mark.usefixtures("instant_judge")
@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
@pytest.mark.parametrize("order", ["LLLLLG", "GLLLLL", "LGLGLG", "LLLLLL", "GGGGGG", ""])
def test_files_that_cannot_be_read_do_not_end_the_rest(
    blend: Exercise, tmp_path: Path, order: str, jobs: int
) -> None:
    for number, kind in enumerate(order):
        (tmp_path / f"{number}.py").write_bytes(LATIN if kind == "L" else GOOD)
    verdicts = list(grade_folder(blend, tmp_path, jobs=jobs))
    assert sorted(Path(v.file).name for v in verdicts) == [f"{n}.py" for n in range(len(order))]
    assert sum(verdict.passed for verdict in verdicts) == order.count("G")


@pytest.mark.usefixtures("instant_judge")
@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
def test_files_that_vanish_get_a_verdict_too(blend: Exercise, tmp_path: Path, jobs: int) -> None:
    for number in range(8):
        (tmp_path / f"{number}.py").write_bytes(GOOD)
    verdicts: list[Verdict] = []
    for verdict in grade_folder(blend, tmp_path, jobs=jobs):
        verdicts.append(verdict)
        (tmp_path / "7.py").unlink(missing_ok=True)
    assert sorted(Path(v.file).name for v in verdicts) == [f"{n}.py" for n in range(8)]
    (gone,) = [v for v in verdicts if not v.passed]
    assert "there is no such file" in (gone.error or "")


@pytest.mark.usefixtures("instant_judge")
def test_a_file_that_is_named_twice_is_graded_twice(blend: Exercise, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(GOOD)
    files: Sequence[Path] = [tmp_path / "a.py"] * 3
    assert [v.passed for v in grade_folder(blend, files, jobs=2)] == [True] * 3


@pytest.mark.usefixtures("instant_judge")
@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
def test_only_what_kills_the_judge_is_blamed_for_it(blend: Exercise, tmp_path: Path, jobs: int) -> None:
    sources = {
        "a": b"# slow",
        "b": b"# kill the judge",
        "c": b"# slow",
        "d": LATIN,
        "e": b"# slow",
        "f": GOOD,
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_bytes(source)
    verdicts = {Path(v.file).stem: v for v in grade_folder(blend, tmp_path, jobs=jobs)}
    assert {name for name, verdict in verdicts.items() if verdict.passed} == {"a", "c", "e", "f"}
    assert "must not kill its parent" in (verdicts["b"].error or "")
    assert len(verdicts) == len(sources)


@pytest.mark.usefixtures("instant_judge")
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_what_goes_wrong_after_the_first_verdict_costs_no_other_file_its_own(
    blend: Exercise, tmp_path: Path, jobs: int
) -> None:
    sources = {"a": GOOD, "b": b"# refuse", "c": GOOD, "d": b"# stop the judge", "e": GOOD}
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_bytes(source)
    verdicts = {Path(v.file).stem: v for v in grade_folder(blend, tmp_path, jobs=jobs)}
    assert {name for name, verdict in verdicts.items() if verdict.passed} == {"a", "c", "e"}
    assert verdicts["b"].error == "no such thing"
    assert "stopped by itself" in (verdicts["d"].error or "")


@pytest.mark.usefixtures("instant_judge")
@pytest.mark.parametrize("source", [b"# refuse", b"# stop the judge"])
def test_where_nothing_can_be_graded_one_error_says_so(
    blend: Exercise, tmp_path: Path, source: bytes
) -> None:
    (tmp_path / "a.py").write_bytes(source)
    with pytest.raises(QuizError, match=r"no such thing|stopped by itself"):
        list(grade_folder(blend, tmp_path))


@pytest.mark.usefixtures("instant_judge")
def test_options_with_which_nothing_can_be_graded_are_refused(blend: Exercise, odd_folder: Path) -> None:
    with pytest.raises(QuizError, match="makes no sense"):
        list(grade_folder(blend, odd_folder, timeout=-1))


@pytest.fixture
def lines(
    odd_folder: Path, capsys: pytest.CaptureFixture[str], instant_judge: None
) -> tuple[list[str], list[str]]:
    """What the command prints for the folder, as text and as JSON."""
    del instant_judge
    printed = []
    for options in ([], ["--json"]):
        assert main(["grade", "warmup", str(odd_folder), "--jobs", "1", *options]) == 1
        printed.append(capsys.readouterr().out.splitlines())
    return printed[0], printed[1]


@pytest.mark.judge
def test_the_command_prints_one_line_for_each_file(
    odd_folder: Path, lines: tuple[list[str], list[str]]
) -> None:
    text, documents = lines
    count = len(submissions_in(odd_folder))
    assert count == len(PASSED) + len(FAILED)
    assert len(text) == count
    assert all(line.isprintable() for line in text)
    assert {Path(json.loads(line)["file"]).name for line in documents} == PASSED | FAILED
