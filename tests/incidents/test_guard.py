"""A guard is taken out of a repaired script, and put into the broken one by itself."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.incidents.live.guard import is_repair_attempted, split_guard
from tests.incidents.live_kit import BROKEN, GUARD, GUARDED, HEALTHY

ASSERTIONS = ("assert loss < 3", "assert loss == loss, 'not a number'", "if step > 2:\n    assert loss < 1")


def test_the_assertion_moves_into_the_broken_script_and_the_repair_stays() -> None:
    split = split_guard(BROKEN, GUARDED)
    assert split.guard == (GUARD,)
    assert split.repair == HEALTHY
    assert split.guarded == BROKEN.replace("        print", f"{GUARD}\n        print")


def test_an_assertion_beside_the_repaired_line_stays_on_its_side() -> None:
    ahead = BROKEN.replace("        loss = loss * RATE", f"{GUARD}\n        loss = loss * 0.1")
    behind = BROKEN.replace("        loss = loss * RATE", f"        loss = loss * 0.1\n{GUARD}")
    broken_line = "        loss = loss * RATE"
    assert f"{GUARD}\n{broken_line}" in split_guard(BROKEN, ahead).guarded
    assert f"{broken_line}\n{GUARD}" in split_guard(BROKEN, behind).guarded


def test_marked_lines_belong_to_the_guard() -> None:
    source = HEALTHY.replace("RATE = 0.1\n", "RATE = 0.1\nimport math  # guard\n")
    split = split_guard(BROKEN, source)
    assert "import math  # guard" in split.guarded
    assert split.repair == HEALTHY


def test_a_function_that_only_asserts_moves_with_its_calls() -> None:
    helper = 'def check(value):\n    """Fail early."""\n    if value > 1:\n        assert value < 3\n\n\n'
    source = HEALTHY.replace("def train", f"{helper}def train")
    source = source.replace("        print", "        check(loss)\n        print")
    split = split_guard(BROKEN, source)
    assert split.guard[-1] == "        check(loss)"
    assert split.repair.replace("\n", "") == HEALTHY.replace("\n", "")
    assert "check" in split.guarded
    ast.parse(split.guarded)


@pytest.mark.parametrize(
    "added",
    [
        "        if step:\n            assert loss < 3\n        else:\n            loss += 0\n",
        "        try:\n            assert loss < 3\n        finally:\n            loss += 0\n",
        "        while step > 50:\n            assert loss < 3\n",
        "        def check(value):\n            assert value < 3\n        checked = check(loss)\n",
    ],
    ids=["if", "try", "while", "function"],
)
def test_what_cannot_be_moved_by_itself_stays_in_the_repair(added: str) -> None:
    source = HEALTHY.replace("        print", f"{added}        print")
    split = split_guard(BROKEN, source)
    assert split.repair == source
    assert not split.guard


def test_an_assertion_of_the_broken_script_is_no_guard() -> None:
    broken = BROKEN.replace("train(7)\n", "assert STEPS\ntrain(7)\n")
    assert split_guard(broken, broken.replace("8.0", "0.1")).guard == ()


@pytest.mark.parametrize("source", ["def (", "assert", "\0", "", "(" * 5000])
def test_what_is_not_python_has_no_guard(source: str) -> None:
    assert split_guard(BROKEN, source).guard == ()


def test_only_a_guard_is_no_repair() -> None:
    assert not is_repair_attempted(BROKEN, BROKEN.replace("        print", f"{GUARD}\n        print"))
    assert is_repair_attempted(BROKEN, HEALTHY)


@given(
    st.integers(0, len(BROKEN.splitlines()) - 1),
    st.sampled_from(ASSERTIONS),
    st.sampled_from((BROKEN, HEALTHY)),
)
def test_wherever_a_guard_stands_the_repair_is_the_script_without_it(
    place: int, assertion: str, script: str
) -> None:
    lines = script.splitlines()
    indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    added = [indent + line for line in assertion.splitlines()]
    source = "\n".join([*lines[: place + 1], *added, *lines[place + 1 :]]) + "\n"
    try:
        ast.parse(source)
    except SyntaxError:
        return  # right behind the head of a block it is not Python
    split = split_guard(BROKEN, source)
    assert split.repair == script
    assert sorted(split.guarded.splitlines()) == sorted([*BROKEN.splitlines(), *added])
