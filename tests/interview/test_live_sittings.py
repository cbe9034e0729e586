"""Live incidents sat as an adversary would, with a real judge; the benchmark sits all of them."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.incidents.loader import load_library
from quizapp.judge.client.script_client import ScriptClient
from tests.interview.incident_sittings import PASTED, no_choice
from tests.interview.live_sittings import (
    LiveJudge,
    LiveResult,
    LiveRoom,
    LiveSitter,
    attackers,
    false_guards,
    honest,
    shortest,
)
from tests.interview.mock_kit import blueprint, small_bank, study

pytestmark = pytest.mark.exhaustive

FAULT, ALARM = "huge-lr", "clipped-spike-false-alarm"
FIX = ("healthy band", "small fix", "guard")
ATTACKS = (
    *("random edits", "metric reported as good", "seed hard-wired", "checkpoint of random tensors"),
    *("shortened run that claims its steps", "exit after one step"),
)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRoom]:
    folder: Path = tmp_path_factory.mktemp("live")
    with study(folder, small_bank()) as made, ScriptClient() as client:
        yield LiveRoom(made, load_library(), blueprint(), LiveJudge(client))


def sat(room: LiveRoom, name: str, sitter: LiveSitter) -> LiveResult:
    return room.sit(name, sitter, random.Random(1))


@pytest.mark.parametrize("name", [FAULT, ALARM])
def test_whoever_knows_the_answer_earns_at_least_ninety(room: LiveRoom, name: str) -> None:
    for kind, sitter in honest(room.library, name).items():
        assert sat(room, name, sitter).mark >= 90, kind


@pytest.mark.parametrize("kind", ATTACKS)
def test_a_script_that_was_not_repaired_earns_nothing_for_the_fix(room: LiveRoom, kind: str) -> None:
    result = sat(room, FAULT, attackers()[kind])
    assert result.edited
    assert result.points(*FIX) == 0
    assert result.mark <= 30


@pytest.mark.parametrize("kind", ["repair, assert False", "repair, guard by the seed"])
def test_a_guard_that_guards_nothing_earns_nothing(room: LiveRoom, kind: str) -> None:
    result = sat(room, FAULT, false_guards()[kind])
    assert result.points("healthy band") == 12
    assert result.points("guard") == 0


@pytest.mark.parametrize("words", ["soup", "denial: It is not true that …", "copied prompt"])
def test_words_and_a_reproduction_without_a_choice_earn_at_most_ten(room: LiveRoom, words: str) -> None:
    assert sat(room, FAULT, LiveSitter(no_choice, PASTED[words], shortest)).mark <= 10
