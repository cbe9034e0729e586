"""Training scripts, run by a real judge: how they end, what is measured, and that nothing is harmed."""

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.errors import QuizError
from quizapp.judge.client.script_client import ScriptClient
from quizapp.judge.protocol.scripts import MAX_LOG, ScriptOrder, ScriptRun

TINY = Path(__file__).parent.parent / "data" / "live" / "tiny"
SCRIPT = (TINY / "run.py").read_text()
BAND = {"error": (0.0, 0.01)}
SAVE = 'torch.save({**state, "report": {"loss": loss.item()}}, "checkpoint.pt")'


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[ScriptClient]:
    with ScriptClient() as ready:
        yield ready


def order(source: str = SCRIPT, seed: int = 7, **options: object) -> ScriptOrder:
    return ScriptOrder(TINY, source, seed, measured=True, **options)  # type: ignore[arg-type]


def edited(old: str, new: str) -> str:
    assert SCRIPT.count(old) == 1
    return SCRIPT.replace(old, new)


def test_a_healthy_run_is_measured(client: ScriptClient) -> None:
    lines: list[str] = []
    run = client.run(order(), lines.append)
    assert run.healthy(BAND)
    assert (run.outcome, run.text, run.changed, run.steps, run.seed) == ("ended", "", "", 40, 7)
    assert run.metrics["reported"] == pytest.approx(float(lines[-1].split()[3]))
    assert len(lines) == 40
    assert run.log == "".join(f"{line}\n" for line in lines)
    assert len(run.checkpoint_hash) == 64


def test_two_runs_of_the_same_command_agree_bit_for_bit(client: ScriptClient) -> None:
    first, again, other = (client.run(order(seed=seed)) for seed in (3, 3, 4))
    assert (first.log, first.checkpoint_hash, first.metrics) == (
        again.log,
        again.checkpoint_hash,
        again.metrics,
    )
    assert first.checkpoint_hash != other.checkpoint_hash


def test_a_run_that_is_stopped_halfway_goes_on_in_another_process(client: ScriptClient) -> None:
    whole, resumed = client.run(order(steps=30)), client.run(order(steps=30, resume=True))
    assert (resumed.log, resumed.checkpoint_hash) == (whole.log, whole.checkpoint_hash)
    forgets = edited('        optimizer.load_state_dict(state["optimizer"])\n', "")
    assert client.run(order(forgets, steps=30, resume=True)).checkpoint_hash != whole.checkpoint_hash


def test_a_run_without_a_number_of_steps_has_no_half(client: ScriptClient) -> None:
    with pytest.raises(QuizError, match="needs its number of steps"):
        client.run(order(resume=True))


def test_ranks_train_together_and_the_first_one_speaks(client: ScriptClient) -> None:
    run = client.run(order(ranks=2))
    assert run.healthy(BAND)
    assert len(run.log.splitlines()) == 40


def test_a_rank_that_fails_explains_the_run(client: ScriptClient) -> None:
    fails = edited("        optimizer.step()\n", "        assert RANK == 0, 'no'\n        optimizer.step()\n")
    run = client.run(order(fails, ranks=2))
    assert (run.outcome, run.text) == (
        "failed",
        'Rank 1 of 2: The script raised AssertionError in line 41 of run.py: "no".',
    )


def test_lines_arrive_while_the_script_runs(client: ScriptClient) -> None:
    arrived = threading.Event()
    waits = "print('first', flush=True)\nwhile True: pass\n"

    def on_line(line: str) -> None:
        assert line == "first"
        arrived.set()

    run = client.run(order(waits, seconds=60.0), on_line, arrived)
    assert (run.outcome, run.text, run.log) == ("canceled", "This run was canceled.", "first\n")


ENDINGS = [
    ("while True: pass", "timeout", "finish within 1 s; it was at line 1 of run.py: `while True: pass`."),
    ("import time\ntime.sleep(60)", "timeout", "did not finish within 1 s; it was at line 2 of run.py"),
    ("import os; os._exit(0)", "failed", "ended its process in the middle, so its checkpoint was not read."),
    ("import sys; sys.exit(3)", "failed", "The script ended with exit status 3."),
    ("import sys; sys.exit('no')", "failed", "The script ended with exit status 1."),
    ("import sys; sys.exit()", "no checkpoint", "came to its end without leaving a checkpoint.pt."),
    ("x = 1\nassert x == 2, 'x'", "failed", 'The script raised AssertionError in line 2 of run.py: "x".'),
    ("raise KeyboardInterrupt", "failed", "The script raised KeyboardInterrupt in line 1 of run.py."),
    ("def f(:\n", "refused", "Line 1 of run.py is not valid Python"),
    ("x = '\0'", "refused", "contains a zero byte"),
    ("#" * 300_000, "refused", "The script is larger than 256 KiB; shorten it."),
    ("(" * 5000, "refused", "is not valid Python"),
    ("import ctypes\nctypes.c_int.from_address(8).value", "killed", "crashed Python with a segmentation"),
    ("import torch\ntorch.ones(1 << 33)", "killed", "more memory than the 2 GiB limit at line 2 of run.py"),
    ("x = bytearray(3 << 30)", "killed", "more memory than the 2 GiB limit at line 1 of run.py"),
    ("import os\nwhile True: os.fork()", "failed", "The script raised PermissionError in line 2"),
    ("open('/etc/quizapp', 'w')", "failed", "The script raised PermissionError in line 1"),
    ("import socket\nsocket.socket()", "failed", "The script raised PermissionError in line 2"),
    ("import torch\ntorch.save = print\ntorch.save(1, 'checkpoint.pt')", "no checkpoint", "without leaving"),
    ("open('checkpoint.pt', 'w').write('x')", "no checkpoint", "checkpoint.pt cannot be loaded"),
    ("import os\nos.mkfifo('checkpoint.pt')", "no checkpoint", "without leaving a checkpoint.pt"),
    ("import os\nos.symlink('run.py', 'checkpoint.pt')", "no checkpoint", "without leaving a checkpoint.pt"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "outcome", "says"), ENDINGS, ids=[row[0][:30] for row in ENDINGS])
def test_every_end_of_a_run_is_one_sentence(
    client: ScriptClient, source: str, outcome: str, says: str
) -> None:
    run = client.run(order(source, seconds=1.0))
    assert says in run.text
    assert run.outcome == outcome
    assert "\n" not in run.text
    assert run.metrics == {}
    assert not run.healthy(BAND)


CHECKPOINTS = [
    ("torch.save([1], 'checkpoint.pt')", "has no entry 'model' that is a dict of tensors"),
    ("torch.save({'model': {}}, 'checkpoint.pt')", "has no entry 'model' that is a dict of tensors"),
    ("torch.save({'model': {1: torch.ones(1)}}, 'checkpoint.pt')", "a name that is not a short text"),
    ("torch.save({'model': {'w' * 300: torch.ones(1)}}, 'checkpoint.pt')", "a name that is not a short text"),
    ("torch.save({'model': {'w': 3}}, 'checkpoint.pt')", "is not a plain tensor"),
    ("torch.save({'model': {'w': torch.eye(3).to_sparse()}}, 'checkpoint.pt')", "is not a plain tensor"),
    ("torch.save({'model': {'w': torch.ones(1).expand(1 << 40)}}, 'checkpoint.pt')", "more than the judge"),
    ("torch.save({'model': {'w': torch.ones(1 << 20)}}, 'checkpoint.pt')", "more than the judge accepts"),
    ("torch.save({'model': {'w': torch.ones(0, 1 << 30)}}, 'checkpoint.pt')", "more than the judge accepts"),
    ("torch.save({'model': {'w': torch.ones([1] * 20)}}, 'checkpoint.pt')", "is not a plain tensor"),
    ("torch.save({'model': {'w': torch.ones(2, device='meta')}}, 'checkpoint.pt')", "is not a plain tensor"),
    ("torch.save({'model': {'w': torch.ones(2).to(torch.complex32)}}, 'checkpoint.pt')", "is not a plain"),
    ("torch.save({'model': {str(i): torch.ones(1) for i in range(3000)}}, 'checkpoint.pt')", "more than"),
    ("torch.save({'model': print}, 'checkpoint.pt')", "checkpoint.pt cannot be loaded"),
    ("open('checkpoint.pt', 'wb').write(bytes(60 << 20))", "checkpoint.pt cannot be loaded"),
    ("import os; os.remove('checkpoint.pt')", "without leaving a checkpoint.pt"),
    ("torch.load = print; torch.save({'model': {'w': 1}}, 'checkpoint.pt')", "is not a plain tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("instead", "says"), CHECKPOINTS, ids=[row[0][:50] for row in CHECKPOINTS])
def test_a_checkpoint_that_is_none_gets_a_sentence(client: ScriptClient, instead: str, says: str) -> None:
    ready = "import torch\ntorch.save({'model': {'w': torch.ones(1)}}, 'checkpoint.pt')\n"
    run = client.run(order(ready + instead))
    assert (run.outcome, run.metrics, run.checkpoint_hash) == ("no checkpoint", {}, "")
    assert says in run.text


CHANGED = [
    ("torch.nn.Linear(3, 1)", "torch.nn.Linear(3, 1, bias=False)", "The checkpoint lacks bias."),
    ("torch.nn.Linear(3, 1)", "torch.nn.Linear(3, 2)", "is (2, 3), not (1, 3)."),
    ('"model": model.state_dict()', '"model": model.double().state_dict()', "is torch.float64, not torch."),
    ('"model": model.state_dict()', '"model": {**model.state_dict(), "x": loss}', "also holds x."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "says"), CHANGED)
def test_another_model_is_not_measured(client: ScriptClient, old: str, new: str, says: str) -> None:
    run = client.run(order(edited(old, new)))
    assert not run.healthy(BAND)
    assert run.metrics == {}
    assert says in run.changed
    assert run.changed or run.text


def test_what_the_script_says_decides_nothing(client: ScriptClient) -> None:
    """Edited seeds, a report that lies, a log that lies, tensors that are not numbers."""
    untrained = edited("        optimizer.step()\n", "").replace("loss.item()", "0.0")
    other_seed = edited("train(arguments.seed, ", "train(arguments.seed + 1, ")
    spoiled = '{name: tensor * float("nan") for name, tensor in model.state_dict().items()}'
    nan = edited('"model": model.state_dict()', f'"model": {spoiled}')
    runs = [client.run(order(source)) for source in (untrained, other_seed, nan)]
    assert [run.outcome for run in runs] == ["ended"] * 3
    assert [run.outside(BAND) for run in runs] == [["error"]] * 3
    assert runs[0].metrics["reported"] == 0.0
    assert math.isnan(runs[2].metrics["error"])


def test_endless_printing_is_cut(client: ScriptClient) -> None:
    sizes: list[int] = []
    endless = "while True: print('x' * 5000, end='\\x1b[2J')"
    run = client.run(order(endless, seconds=1.0), lambda line: sizes.append(len(line)))
    assert run.outcome == "timeout"
    assert MAX_LOG <= len(run.log) < MAX_LOG + 200
    assert "more bytes are not kept" in run.log.splitlines()[-1]
    assert "\x1b" not in run.log
    assert sum(sizes) + len(sizes) == len(run.log)


def test_a_forged_record_is_one_sentence(client: ScriptClient) -> None:
    """A script that finds the result pipe may write anything into it."""
    forged = (
        "import os, struct\n"
        "for fd in range(3, 256):\n"
        "    try: os.write(fd, b'x' * 100)\n"
        "    except OSError: pass\n"
    )
    run = client.run(order(forged))
    assert not run.healthy(BAND)
    assert run.text


def test_no_process_is_left_behind(client: ScriptClient) -> None:
    threads = (
        "import threading\n"
        "def spin():\n"
        "    while True: pass\n"
        "for _ in range(3): threading.Thread(target=spin).start()\n"
        "print('begun', flush=True)\n"
    )
    run: ScriptRun = client.run(order(threads, seconds=20.0))
    assert (run.outcome, run.log) == ("no checkpoint", "begun\n")
    assert run.seconds < 15


def test_after_all_that_the_judge_still_measures(client: ScriptClient) -> None:
    assert client.run(order()).healthy(BAND)
