"""A terminal that goes away ends the program, with what was typed on disk."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from quizapp import paths
from quizapp.tui.startup import mark_tour_seen

pytestmark = pytest.mark.slow

CODE = "import sys; from quizapp.tui.app import run; sys.exit(run('exercise', slug='lora'))"


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program in a pseudo-terminal that is not its controlling one: a hang-up sends no signal."""
    mark_tour_seen()
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", CODE], stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    yield process, master
    process.kill()
    process.wait()
    with contextlib.suppress(OSError):
        os.close(master)


def wait_for(master: int, words: bytes) -> None:
    seen = b""
    deadline = time.monotonic() + 60
    while words not in seen:
        assert time.monotonic() < deadline, seen[-500:]
        if select.select([master], [], [], 0.1)[0]:
            seen += os.read(master, 65536)


@pytest.mark.parametrize("way", ["closed", "SIGTERM", "SIGHUP"])
def test_the_program_ends_and_keeps_what_was_typed(started, way: str) -> None:
    process, master = started
    wait_for(master, b"25:00")
    os.write(master, b"\x1bOR" + b"kept")
    wait_for(master, "●".encode())  # the mark of unsaved text
    if way == "closed":
        os.close(master)
    else:
        process.send_signal(getattr(signal, way))
        with contextlib.suppress(OSError):  # it writes until it ends
            while process.poll() is None:
                if select.select([master], [], [], 0.1)[0]:
                    os.read(master, 65536)
    assert process.wait(30) in {0, 3}
    assert (paths.workspace() / "lora" / "lora.py").read_text().startswith("kept")
