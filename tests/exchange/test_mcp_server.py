"""The server for assistants: the states of a card, no leak in any order of calls, the log of the app."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.bank.model import Bank, KeyPoint, Option
from quizapp.cli.main import main
from quizapp.exchange.mcp_server import build_server
from quizapp.judge.submission import user_file
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.events import EventType
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.exchange.tutor_orders import (
    REHEARSAL,
    SecretRuns,
    all_secrets,
    logged,
    random_orders,
    runs,
    sampled_bank,
    secrets_of_exercise,
)
from tests.scheduling.study_kit import MORNING, bank, question

TOOLS = {
    "next_question", "submit_answer", "reveal", "propose_marks", "rate",
    "status", "grade", "hint", "incident_readings",
}  # fmt: skip
POINTS = (
    {"text": "Adam divides by a running estimate.", "weight": 3},
    {"text": "It is biased.", "weight": 1},
)


def the_bank() -> Bank:
    return bank(
        question("recall", key_points=tuple(KeyPoint(**point) for point in POINTS)),
        question(
            "choice",
            kind="choice",
            options=(
                Option("Larger steps", "Because the reason is told later.", True),
                Option("Smaller steps", "Because it is wrong for some reason."),
            ),
        ),
    )


@pytest.fixture
def study(home: Path) -> Study:
    return Study(the_bank(), Store.open(home / "quizapp.db"), Settings(), FixedClock(MORNING))


@pytest.fixture
def client(study: Study) -> Client:
    """A client to enter with ``async with``, in the task of the test."""
    return Client(build_server(study, REHEARSAL))


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a call that is refused says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return str(getattr(result.content[0], "text", ""))


async def test_there_are_at_most_ten_tools_with_schemas_and_honest_marks(client: Client) -> None:
    async with client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == TOOLS
    for tool in tools.values():
        assert tool.description
        assert (tool.output_schema or {})["properties"]
        assert tool.annotations is not None
        assert tool.annotations.destructive_hint is False
    reading = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    assert reading == {"status", "incident_readings"}


async def test_a_card_goes_from_asked_to_rated_and_into_the_log(client: Client, study: Study) -> None:
    answer = "It divides by a running estimate of the gradient's second moment."
    async with client:
        asked = await told(client, "next_question")
        assert (asked["state"], asked["question"]) == ("asked", "recall")
        assert await told(client, "next_question") == asked
        assert "submit_answer" in await refused(client, "reveal")
        assert "submit_answer" in await refused(client, "rate", rating=3)
        assert "submit_answer" in await refused(client, "propose_marks", marks=[])
        assert (await told(client, "submit_answer", answer=answer))["answer"] == answer
        assert "frozen" in await refused(client, "submit_answer", answer="another")
        assert "reveal" in await refused(client, "rate", rating=3)
        revealed = await told(client, "reveal")
        assert [point["text"] for point in revealed["points"]] == [point["text"] for point in POINTS]
        assert "cannot be skipped" in await refused(client, "next_question", skip=True)
        assert "cannot be changed" in await refused(client, "submit_answer", answer="another")
        marks = [{"point": 1, "quote": "divides by a running estimate"}]
        proposed = await told(client, "propose_marks", marks=marks)
        assert proposed["shown"] == marks
        assert proposed["share"] == 0.75
        assert proposed["proposed_rating"] == int(Rating.GOOD)
        assert "no rating 5" in await refused(client, "rate", rating=5)
        rated = await told(client, "rate", rating=2)
        assert "next_question" in await refused(client, "rate", rating=2)
        assert (await told(client, "next_question"))["question"] == "choice"
    (event,) = study.store.log.all()
    assert (event.id, event.card, event.rating, event.source) == (rated["event"], "recall", 2, "mcp")
    assert (event.proposed, event.ticks, event.details) == (3, "[0]", {"typed": answer})
    assert study.counts().new == 1, "a card of the server counts toward the limit of the day"


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ("a running mean", "word for word"),
        ("it DIVIDES by a", "word for word"),
        ("running estimate", "too short"),
        ("", "word for word"),
        ("Adam divides by a running estimate.", "word for word"),
    ],
)
async def test_a_mark_needs_three_words_of_the_answer(client: Client, quote: str, reason: str) -> None:
    good = {"point": 2, "quote": "it divides by"}
    async with client:
        await told(client, "next_question")
        await told(client, "submit_answer", answer="Well, it divides by a running estimate")
        before = await told(client, "reveal")
        assert reason in await refused(client, "propose_marks", marks=[good, {"point": 1, "quote": quote}])
        assert (await told(client, "reveal"))["shown"] == before["shown"], "one bad mark refuses all"
        assert "no key point 3" in await refused(client, "propose_marks", marks=[good | {"point": 3}])


async def test_a_short_answer_may_be_quoted_whole(client: Client) -> None:
    async with client:
        await told(client, "next_question")
        await told(client, "submit_answer", answer=" running estimate ")
        await told(client, "reveal")
        proposed = await told(client, "propose_marks", marks=[{"point": 1, "quote": "running estimate"}])
    assert proposed["shown"] == [{"point": 1, "quote": "running estimate"}]


async def test_reasons_of_options_come_with_the_reveal_only(client: Client, study: Study) -> None:
    async with client:
        await told(client, "next_question", skip=True)
        skipped = await told(client, "next_question", skip=True)
        assert skipped["question"] == "choice"
        assert "Because" not in json.dumps(skipped)
        unreadable = await refused(client, "submit_answer", answer="the third one")
        assert "by its number or its text" in unreadable
        await told(client, "submit_answer", answer="Larger steps")
        revealed = await told(client, "reveal")
        assert (revealed["share"], revealed["note"]) == (1.0, "Because the reason is told later.")
        assert "itself" in await refused(client, "propose_marks", marks=[])
        assert revealed["proposed_rating"] == 3
        await told(client, "rate", rating=3)
    assert [event.card for event in study.store.log.all()] == ["choice"], "a skipped card is not logged"


async def test_an_unknown_answer_proposes_again(client: Client) -> None:
    async with client:
        await told(client, "next_question")
        assert "empty" in await refused(client, "submit_answer", answer=" ")
        await told(client, "submit_answer", answer="", unknown=True)
        revealed = await told(client, "reveal")
        assert (revealed["proposed_rating"], revealed["shown"]) == (1, [])
        assert "word for word" in await refused(client, "propose_marks", marks=[{"point": 1, "quote": " "}])


async def test_a_card_answered_in_another_window_is_left(client: Client, study: Study) -> None:
    async with client:
        await told(client, "next_question")
        await told(client, "submit_answer", answer="a running estimate")
        await told(client, "reveal")
        study.answer("recall", Rating.GOOD)
        assert "another window" in await refused(client, "rate", rating=1)
        assert (await told(client, "next_question"))["question"] == "choice"


async def test_a_wrong_topic_gets_the_nearest(client: Client) -> None:
    async with client:
        assert "did you mean 'warmup'" in await refused(client, "next_question", topic="warmpu")


async def test_reviews_of_the_server_survive_a_replay(client: Client, study: Study) -> None:
    async with client:
        await told(client, "next_question")
        await told(client, "submit_answer", answer="a running estimate")
        await told(client, "reveal")
        await told(client, "rate", rating=3)
    before = study.cards()
    study.store.rebuild()
    assert study.cards() == before
    assert study.stats().sources == {"mcp": 1}


async def test_hints_and_grades_follow_the_rules_of_the_exercise_screen(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "lora.py"
    outside.write_text("x = 1", encoding="utf-8")
    full = load_bank()
    with Study(full, Store.open(home / "quizapp.db"), Settings()) as study:
        async with Client(build_server(study, REHEARSAL)) as client:
            assert "makes one" in await refused(client, "grade", exercise="lora")
            own = user_file(full.exercises["lora"])
            (own.parent / "elsewhere.py").symlink_to(outside)
            (own.parent / "notes.txt").write_text("secret", encoding="utf-8")
            for file in (
                str(outside),
                "../quizapp.db",
                "lora/elsewhere.py",
                "lora/notes.txt",
                "a\0b",
                "lora",
            ):
                assert "only Python files" in await refused(client, "grade", exercise="lora", file=file)
            assert "no such file" in await refused(client, "grade", exercise="lora", file="lora/new.py")
            hints = [await told(client, "hint", exercise="lora") for _ in full.exercises["lora"].hints]
            assert [hint["hint"] for hint in hints] == [hint.text for hint in full.exercises["lora"].hints]
            assert hints[-1]["left"] == 0
            assert "no further hint" in await refused(client, "hint", exercise="lora")
            assert not study.store.log.all()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_judge")
@pytest.mark.judge
async def test_a_grade_shows_what_failed_but_no_test_and_no_solution(home: Path) -> None:
    full = load_bank()
    exercise = full.exercises["gradient-descent"]
    with Study(full, Store.open(home / "quizapp.db"), Settings()) as study:
        own = user_file(exercise)
        (own.parent / "other.py").write_text(exercise.starter, encoding="utf-8")
        own.write_text(exercise.solution, encoding="utf-8")
        async with Client(build_server(study, REHEARSAL)) as client:
            await told(client, "hint", exercise=exercise.slug)
            failed = await told(client, "grade", exercise=exercise.slug, file=f"{exercise.slug}/other.py")
            passed = await told(client, "grade", exercise=exercise.slug)
            assert (await told(client, "hint", exercise=exercise.slug))["number"] == 1, "a pass begins anew"
        assert (failed["passed"], failed["recorded"]) == (False, False)
        assert failed["failed"][0]["messages"]
        assert (passed["passed"], passed["recorded"], passed["failed"]) == (True, True, [])
        assert "Rated Hard" in passed["note"], "a hint makes a pass hard"
        (event,) = study.store.log.standing(EventType.VERDICT)
        assert (event.source, event.hints) == ("mcp", 1)
    public = (exercise.prompt, exercise.starter, *exercise.behaviours.values())
    allowed = {run for text in public for run in runs(text)}
    secrets = SecretRuns(secrets_of_exercise(exercise))
    assert secrets.within(json.dumps([failed, passed], ensure_ascii=False), allowed) == []


async def test_briefs_of_broken_runs_name_prices_but_no_cause(home: Path) -> None:
    with Study(load_bank(), Store.open(home / "quizapp.db"), Settings()) as study:
        async with Client(build_server(study, REHEARSAL)) as client:
            listed = await told(client, "incident_readings")
            brief = (await told(client, "incident_readings", incident="fewer-devices"))["brief"]
            said = await refused(client, "incident_readings", incident="accum-not-divided")
    assert len(listed["runs"]) > 20
    assert {"title", "seconds", "asks", "outcomes"} == brief["readings"][0].keys()
    assert "accum" not in json.dumps([listed, brief])
    assert {brief["topic"], *(run["topic"] for run in listed["runs"])} == {""}
    assert "did you mean" not in said


async def test_no_order_of_calls_leaks_or_marks_without_a_quote(home: Path) -> None:
    full = sampled_bank(load_bank(), 12)
    secrets = all_secrets(full, ("lora", "attention"))
    with Study(full, Store.open(home / "quizapp.db"), Settings(), FixedClock(MORNING)) as study:
        found = await random_orders(study, secrets, random.Random(15), servers=2, orders=6, length=25)
        assert found.leaks == []
        assert found.marks_without_quote == 0
        assert logged(study) == found.rated
        assert len(found.rated) > 5, "the orders reach the end of some cards"
        assert found.marks > 5
        assert found.calls.keys() == TOOLS


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "quizapp.exchange.mcp_server")
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install" in line


_CLIENT = """
import subprocess, sys, time
pipe = subprocess.PIPE
server = subprocess.Popen([sys.executable, "-m", "quizapp", "mcp"], stdin=pipe, stdout=pipe)
server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
                   b'"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\\n')
server.stdin.flush()
answer = server.stdout.readline()
print(server.pid, answer.decode(), flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_server_whose_client_is_killed_ends(home: Path) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "QUIZAPP_HOME": str(home)},
    )
    with client:
        assert client.stdout is not None
        pid, _, answer = client.stdout.readline().partition(b" ")
        assert json.loads(answer)["result"]["serverInfo"]["name"] == "quizapp"
        server = psutil.Process(int(pid))
        client.send_signal(signal.SIGKILL)
        _, alive = psutil.wait_procs([server], timeout=60)
    assert alive == []
    assert paths.database().exists()
