"""A script may forge the record of its run. Whatever it writes, the examiner answers with a reply."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from quizapp.judge.protocol.scripts import ScriptOutcome
from quizapp.judge.server.script_evidence import ScriptReply, ScriptRequest, examine
from quizapp.judge.worker.transcript import encode

TINY = Path(__file__).parent.parent / "data" / "live" / "tiny"
NONCE = "a nonce"
ODD = (
    *(None, True, -1, 10**400, math.inf, math.nan, "", "missing", "x" * 300, [], [1], (1, 2), {}, {1: 2}),
    *({"loss": 10**400}, {"loss": math.inf}, {"loss": "low"}, [["weight", 1]], object()),
    *(torch.ones(2), torch.ones(()), torch.empty(0), torch.ones(2, device="meta"), [torch.ones(2)]),
    *({"weight": torch.ones(2, device="meta")}, {"weight": torch.ones(2, dtype=torch.complex64)}),
    *({"types": ["E"], "message": "m", "line": math.inf}, {"types": 3, "message": torch.ones(1), "line": 1}),
)
FIELDS = ("tensors", "step", "report", "problem", "refused", "failed", "exit", "file")
GOOD = {"tensors": {"weight": torch.ones(3)}, "step": 3, "report": {"loss": 1.0}}


def reply(values: Any, errors: Any = (), imported: Any = None) -> ScriptReply:
    message = {"values": values, "errors": errors, "import": imported, "nonce": NONCE}
    return examine(ScriptRequest(str(TINY), 1, {}, True, [encode(message)], NONCE, "/tmp"))


def record(**fields: Any) -> dict[str, Any]:
    return {f"script/{name}": value for name, value in fields.items()}


def forged() -> Iterator[tuple[Any, ...]]:
    for field, odd in itertools.product(FIELDS, ODD):
        yield (record(**{**GOOD, field: odd}),)
        yield (record(**{field: odd}),)
    for odd in ODD:
        yield (odd,)
        yield ({}, odd)
        yield ({}, {"script": odd})
        yield ({}, {}, odd)


def test_no_forged_record_ends_the_examiner() -> None:
    outcomes = {reply(*parts).outcome for parts in forged()}
    assert outcomes <= {*ScriptOutcome} - {ScriptOutcome.CANCELED}


@pytest.mark.parametrize(
    "fields",
    [
        {"exit": math.inf},
        {"failed": {"types": ["E"], "message": "", "line": math.inf}},
        {"failed": torch.ones(2)},
        {**GOOD, "report": {"loss": 10**400}},
    ],
    ids=["exit status", "line", "tensor", "report"],
)
def test_a_record_that_no_probe_writes_is_called_forged(fields: dict[str, Any]) -> None:
    answer = reply(record(**fields))
    assert answer.outcome == ScriptOutcome.FAILED
    assert "in place of the judge's record" in answer.text
