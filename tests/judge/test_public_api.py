"""What `quizapp.judge` offers, and the JSON form of a verdict."""

import json

import pytest

import quizapp.judge
from quizapp.judge.protocol.messages import ClientRequest, GradeReply, Operation, ReplyKind, WireError
from quizapp.judge.protocol.orders import GradeOrder
from quizapp.judge.verdict import TestResult, Verdict, VerdictStatus
from tests.judge.field import DATA

FAILED = Verdict(
    "blend",
    "blend.py",
    "cpu",
    VerdictStatus.FAILED,
    (TestResult("gradients", 2, passed=False, message="Wrong.", seconds=0.25),),
    0.5,
    7,
    "T2",
    notes=("A note.",),
    versions={"torch": "2"},
)


def test_every_public_name_can_be_imported() -> None:
    for name in quizapp.judge.__all__:
        assert getattr(quizapp.judge, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        quizapp.judge.nothing  # noqa: B018


def test_a_verdict_survives_its_json_form() -> None:
    assert Verdict.from_json(json.loads(json.dumps(FAILED.as_json()))) == FAILED


def test_the_json_form_keeps_names_and_order() -> None:
    assert json.dumps(FAILED.as_json()) == (
        '{"schema": "quizapp.verdict/1", "exercise": "blend", "file": "blend.py", "device": "cpu", '
        '"status": "failed", "passed": false, "stages": [], '
        '"tests": [{"name": "gradients", "behaviour": 2, "stage": "all", '
        '"passed": false, "message": "Wrong.", "seconds": 0.25}], "recognized": [], '
        '"seconds": 0.5, "seed": 7, "tier": "T2", '
        '"error": null, "printed": "", "notes": ["A note."], "versions": {"torch": "2"}}'
    )


def test_requests_and_replies_survive_the_wire() -> None:
    order = GradeOrder(DATA / "blend", b"\xef\xbb\xbfx = 1\r\n", "l\udcff.py", "cpu", 2.5, -3, "T1")
    for request in (ClientRequest(Operation.GRADE, 4, order, latest=True), ClientRequest(Operation.CANCEL)):
        assert ClientRequest.from_message(json.loads(json.dumps(request.as_message()))) == request
    for reply in (
        GradeReply(ReplyKind.VERDICT, 4, FAILED),
        GradeReply(ReplyKind.REFUSED, 4, text="No.", exit_code=2),
        GradeReply(ReplyKind.STALE, 4),
    ):
        assert GradeReply.from_message(json.loads(json.dumps(reply.as_message()))) == reply


@pytest.mark.parametrize("message", [{}, {"op": "grade"}, {"op": "dance", "id": 1, "latest": False}])
def test_malformed_frames_are_refused(message: dict[str, object]) -> None:
    with pytest.raises(WireError):
        ClientRequest.from_message(message)
    with pytest.raises(WireError):
        GradeReply.from_message(message)
