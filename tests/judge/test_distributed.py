"""Groups of ranks: right code passes, and a hang names the rank that waits and its line."""

import pytest

from quizapp.judge import grade
from tests.judge.field import DATA, Field, exercise


def ring(field: Field, source: str, seconds: float = 60.0):  # type: ignore[no-untyped-def]
    return grade(exercise("ring"), source.encode(), device="cpu", timeout=seconds, tier=field.tier)


def test_right_code_passes_in_every_group(field: Field) -> None:
    if field.tier == "T0":
        pytest.skip("ten spawned workers cost a minute")
    verdict = ring(field, (DATA / "ring" / "solution.py").read_text(encoding="utf-8"))
    assert verdict.passed, verdict


def test_a_rank_that_stays_away_is_named(field: Field) -> None:
    if field.tier == "T0":
        pytest.skip("ten spawned workers cost a minute")
    source = (
        "import time\nimport torch.distributed as dist\n\ndef total(x):\n"
        "    if dist.get_rank() == 1:\n        time.sleep(1000)\n    dist.all_reduce(x)\n    return x\n"
    )
    verdict = ring(field, source, 4.0)
    assert verdict.status == "timeout"
    assert "rank 0 waits at line 7 of ring.py: `dist.all_reduce(x)`" in (verdict.error or "")
    assert "rank 1 waits at line 6 of ring.py: `time.sleep(1000)`" in (verdict.error or "")


def test_a_rank_that_leaves_early_is_explained(field: Field) -> None:
    if field.tier == "T0":
        pytest.skip("ten spawned workers cost a minute")
    source = (
        "import torch.distributed as dist\n\ndef total(x):\n"
        "    if dist.get_rank():\n        return x\n    dist.all_reduce(x)\n    return x\n"
    )
    verdict = ring(field, source)
    assert verdict.status in ("failed", "error")
    assert any("connection to another rank closed" in test.message for test in verdict.tests)


def relay(field: Field, body: str):  # type: ignore[no-untyped-def]
    if field.tier == "T0":
        pytest.skip("ten spawned workers cost a minute")
    head = "import torch.distributed as dist\n\ndef total(x, group=None):\n    x = x.clone()\n"
    source = f"{head}{body}    return x\n"
    return grade(exercise("relay"), source.encode(), device="cpu", timeout=60.0, tier=field.tier)


def test_ranks_in_step_pass_in_groups_too(field: Field) -> None:
    verdict = relay(field, "    dist.all_reduce(x, group=group)\n")
    assert verdict.passed, verdict


def test_ranks_out_of_step_are_told_apart_instead_of_hanging(field: Field) -> None:
    verdict = relay(
        field,
        "    if group is None and dist.get_rank() == 1:\n        return x\n"
        "    dist.all_reduce(x, group=group)\n",
    )
    told = {test.name: test.message for test in verdict.tests}
    assert verdict.status == "failed"
    assert "rank 0 calls all_reduce with 5 elements of float32; rank 1 never calls it" in told["all"]
    assert "rank 1 never calls it" in told["again"]
    assert not told["ends"], "a step after one that broke goes on as usual"


def test_ranks_with_other_sizes_and_exceptions_are_told(field: Field) -> None:
    verdict = relay(
        field,
        "    if dist.get_rank() == 1:\n        raise KeyError('lost')\n"
        "    dist.all_reduce(x[dist.get_rank() :], group=group)\n",
    )
    told = {test.name: test.message for test in verdict.tests}
    assert "rank 1 never gets there: it raised an exception" in told["all"]
    assert "rank 2 calls all_reduce with 3 elements" in told["ends"]


def test_a_network_of_their_own_leads_to_no_socket_of_the_file_system(field: Field) -> None:
    if field.tier not in ("T2", "T3"):
        pytest.skip("T0 and T1 do not guard sockets")
    verdict = relay(
        field,
        "    import socket\n"
        "    for family in (socket.AF_UNIX, socket.AF_VSOCK, socket.AF_PACKET):\n"
        "        try:\n"
        "            socket.socket(family).close()\n"
        "            print('opened', family)\n"
        "        except PermissionError:\n"
        "            print('refused', family)\n"
        "    dist.all_reduce(x, group=group)\n",
    )
    assert verdict.passed, verdict
    assert "opened" not in verdict.printed
    assert "refused" in verdict.printed
