"""The user's file is made once and never overwritten; what is no submission is refused with a sentence."""

import os
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.judge.submission import read_source, user_file, user_path
from tests.judge.field import exercise


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "home"))


def test_first_call_writes_the_starter_and_later_ones_keep_what_is_there() -> None:
    found = exercise("blend")
    path = user_file(found)
    assert path.read_text(encoding="utf-8") == found.starter
    path.write_text("mine", encoding="utf-8")
    assert user_file(found) == path
    assert path.read_text(encoding="utf-8") == "mine"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_first_file_brings_a_guide_for_assistants_once() -> None:
    guide = paths.workspace() / "AGENTS.md"
    assert not guide.exists()
    user_file(exercise("blend"))
    text = guide.read_text(encoding="utf-8")
    assert "Do not write the solution" in text
    assert all(command in text for command in ("quizapp grade", "quizapp exercise", "quizapp mcp", "ctrl+t"))
    guide.write_text("", encoding="utf-8")
    user_path(exercise("blend")).unlink()
    user_file(exercise("blend"))
    assert not guide.read_text(encoding="utf-8")
    guide.unlink()
    user_path(exercise("blend")).unlink()
    user_file(exercise("blend"))
    assert not guide.exists()


def test_a_guide_of_the_user_stays() -> None:
    guide = paths.workspace() / "AGENTS.md"
    guide.parent.mkdir(parents=True)
    guide.write_text("mine", encoding="utf-8")
    user_file(exercise("blend"))
    assert guide.read_text(encoding="utf-8") == "mine"


def test_a_guide_that_cannot_be_written_does_not_keep_the_exercise() -> None:
    (paths.workspace() / "AGENTS.md" / "folder").mkdir(parents=True)
    (paths.workspace() / ".agents-md-written").symlink_to("nowhere")
    assert user_file(exercise("blend")).is_file()


def test_a_dangling_link_is_left_alone(tmp_path: Path) -> None:
    path = user_file(exercise("blend"))
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert user_file(exercise("blend")).is_symlink()
    assert not (tmp_path / "nowhere").exists()


def test_a_home_that_cannot_be_written_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path / "file"))
    with pytest.raises(QuizError, match="cannot be created"):
        user_file(exercise("blend"))


def test_marks_and_line_ends_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert read_source(path) == b"\xef\xbb\xbfx = 1\r\n"
    (tmp_path / "link.py").symlink_to(path)
    assert read_source(tmp_path / "link.py") == read_source(path)


def test_what_is_no_submission_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "huge.py").write_bytes(b"#" * (300 << 10))
    (tmp_path / "latin.py").write_bytes(b"# \xe4\n")
    (tmp_path / "zero.py").write_bytes(b"x = 1\0")
    cases = {
        tmp_path / "pipe.py": "named pipe",
        tmp_path / "loop.py": "links form a circle",
        tmp_path / "huge.py": "larger than 256 KiB",
        tmp_path / "latin.py": "not UTF-8 at byte 2",
        tmp_path / "zero.py": "zero byte",
        tmp_path: "a folder",
        Path("/dev/zero"): "a device",
        tmp_path / "none.py": "no such file",
        tmp_path / "zero.py" / "x": "not a folder",
        Path("bad\0name.py"): "not a file name",
    }
    for path, sentence in cases.items():
        with pytest.raises(QuizError, match=sentence):
            read_source(path)
