"""The shared helpers: files written whole, harmless text, suggestions."""

import stat
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.util.atomic import create_atomic, publish, write_atomic
from quizapp.util.log import write_crash, write_log
from quizapp.util.sanitize import escape_controls, escape_unprintable, one_line
from quizapp.util.suggest import did_you_mean
from quizapp.util.text import clock, duration, percent, plural


@pytest.mark.parametrize("content", ["a\nä", "a\nä".encode(), ["a\n", "ä"]])
@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_whole(tmp_path: Path, content: str | bytes | list[str], durable: bool) -> None:
    path = tmp_path / "new" / "file"
    write_atomic(path, "old")
    write_atomic(path, content, durable=durable)
    assert path.read_bytes() == "a\nä".encode()
    assert [file.name for file in path.parent.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def lines():
        yield "new"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_atomic(path, lines())
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_the_mode_is_narrowed_by_the_umask(tmp_path: Path) -> None:
    write_atomic(tmp_path / "private", b"", mode=0o600)
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_creating_never_replaces(tmp_path: Path) -> None:
    assert create_atomic(tmp_path / "file", "first")
    assert not create_atomic(tmp_path / "file", "second")
    assert (tmp_path / "file").read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_publish_renames_the_finished_file(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("whole")
    publish(tmp_path / "part", tmp_path / "file")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_the_log_names_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path))
    assert write_log("first") == paths.log_file()
    write_crash(ValueError("second"))
    text = paths.log_file().read_text()
    assert "first\n" in text
    assert "ValueError: second\n" in text


def test_what_a_terminal_obeys_is_escaped() -> None:
    assert escape_controls("a\x1b[31m\u202eb\r\nc\td") == "a\\x1b[31m\\u202eb\nc   d"
    assert escape_controls("می\u200cخواهم") == "می\u200cخواهم"
    assert escape_unprintable("a\x1b\u200c\U000e0041\tb\r\nc") == "a\\x1b\\u200c\\U000e0041\tb\nc"
    assert one_line(" a\n b\x07 ") == "a b\\x07"


def test_close_names_are_suggested() -> None:
    assert did_you_mean("lroa", ["lora", "softmax"]) == "did you mean 'lora'?"
    assert did_you_mean("zzz", ["lora"], "see the list") == "see the list"
    assert did_you_mean("optimzer", ["drill", "adaptive-optimizers"]) == "did you mean 'adaptive-optimizers'?"


def test_numbers_as_people_write_them() -> None:
    assert [plural(1, "card"), plural(2, "card"), plural(0, "reply", "replies")] == [
        "1 card", "2 cards", "0 replies",
    ]  # fmt: skip
    assert [duration(45), duration(725), duration(11_100)] == ["45 s", "12 min", "3 h 5 min"]
    assert [clock(245), clock(3845.9)] == ["4:05", "1:04:05"]
    assert [percent(0.837), percent(None)] == ["84 %", "–"]
