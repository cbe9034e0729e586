"""Training scripts that attack the machine, the judge, its folders, or its measure: each costs a sentence."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import quizapp
from quizapp.judge.client.script_client import ScriptClient
from quizapp.judge.protocol.scripts import MAX_LOG, ScriptOrder, ScriptRun

TINY = Path(__file__).parent.parent / "data" / "live" / "tiny"
SCRIPT = (TINY / "run.py").read_text()
pytestmark = pytest.mark.exhaustive

BAND = {"error": (0.0, 0.01)}
TRAINED = f"{SCRIPT}\nimport os, signal, subprocess, sys, threading, time\n"
"""A healthy run that has saved its checkpoint; what an attack does comes after it."""


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[ScriptClient]:
    with ScriptClient() as ready:
        yield ready


def run(client: ScriptClient, source: str, *, seconds: float = 10.0, ranks: int = 1) -> ScriptRun:
    return client.run(ScriptOrder(TINY, source, 7, measured=True, seconds=seconds, ranks=ranks))


AFTER_THE_CHECKPOINT = [
    ("while True: pass", "timeout", "did not finish within 1 s"),
    ("while True: threading.Thread(target=time.sleep, args=(9,)).start()", "failed", "new thread"),
    ("open('checkpoint.pt', 'ab').truncate(10 << 30)", "failed", "File too large"),
    ("f = open('checkpoint.pt', 'wb')\nwhile True: f.write(bytes(1 << 20))", "failed", "File too large"),
    ("os.kill(os.getppid(), signal.SIGKILL)", "failed", "Operation not permitted"),
    ("os.kill(-1, signal.SIGKILL)", "failed", "Operation not permitted"),
    ("subprocess.Popen(['sleep', '300'], start_new_session=True)", "failed", "not permitted"),
    ("[signal.signal(n, 1) for n in (2, 14, 15, 24)]\nwhile True: pass", "timeout", "within 1 s"),
    ("class E(Exception):\n    def __str__(self): exit(0)\nraise E", "failed", "raised E in line"),
    ("raise type('A' * 50_000, (Exception,), {})('x' * 10_000_000)", "failed", "The script raised A"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("attack", "outcome", "says"), AFTER_THE_CHECKPOINT, ids=[row[0][:40] for row in AFTER_THE_CHECKPOINT]
)
def test_a_healthy_checkpoint_does_not_help_a_script_that_ends_badly(
    client: ScriptClient, attack: str, outcome: str, says: str
) -> None:
    made = run(client, TRAINED + attack, seconds=1.0 if outcome == "timeout" else 20.0)
    assert (made.outcome, made.healthy(BAND)) == (outcome, False)
    assert says in made.text
    assert "\n" not in made.text
    assert len(made.text) < 1000


@pytest.mark.parametrize(
    "place",
    [
        tempfile.gettempdir() + "/quizapp-attack",
        "/dev/shm/quizapp-attack",
        str(Path.home() / "quizapp-attack"),
    ],
)
def test_nothing_is_written_outside_its_folder(client: ScriptClient, place: str) -> None:
    made = run(client, f"{TRAINED}open({place!r}, 'w').write('x')")
    assert made.outcome == "failed"
    assert not Path(place).exists()


@pytest.mark.parametrize(
    "reads",
    [
        f"open({str(TINY / 'measure.py')!r}).read()",
        f"open({str(Path(quizapp.__file__))!r}).read()",
        "__import__('quizapp.judge.server.script_evidence')",
        "__import__('quizapp.judge.testing.checkpoint')",
        "open(f'/proc/{os.getppid()}/environ').read()",
        "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    ],
    ids=lambda text: text[-40:],
)
def test_neither_the_measure_nor_the_program_can_be_read(client: ScriptClient, reads: str) -> None:
    made = run(client, f"{TRAINED}found = {reads}\nprint('read', found)")
    assert made.outcome == "failed"
    assert "\nread " not in made.log


@pytest.mark.parametrize(
    "harmless",
    [
        "os.remove(__file__)",
        "os.closerange(0, 100)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
        "import atexit\natexit.register(lambda: [None for _ in iter(int, 1)])",
    ],
    ids=lambda text: text[-40:],
)
def test_what_changes_nothing_about_the_checkpoint_costs_nothing(client: ScriptClient, harmless: str) -> None:
    made = run(client, TRAINED + harmless, seconds=30.0)
    assert (made.outcome, made.healthy(BAND)) == ("ended", True)
    assert made.seconds < 25


def test_a_rank_that_hangs_after_the_others_is_a_timeout(client: ScriptClient) -> None:
    made = run(client, f"{TRAINED}if os.environ['RANK'] == '1': time.sleep(60)", seconds=3.0, ranks=2)
    assert (made.outcome, made.healthy(BAND)) == ("timeout", False)
    assert "rank 1 waits at line" in made.text
    assert "rank 0 had finished" in made.text


def test_a_flood_without_an_end_of_line_is_cut(client: ScriptClient) -> None:
    made = run(client, f"{TRAINED}for _ in range(100): sys.stdout.write('x' * (1 << 20))", seconds=60.0)
    assert made.healthy(BAND)
    assert len(made.log) < MAX_LOG + 200


def test_after_all_that_the_judge_still_measures(client: ScriptClient) -> None:
    assert run(client, SCRIPT).healthy(BAND)
