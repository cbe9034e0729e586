"""What a learner's test proves: the rules, on programs run in this process."""

import types
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.interview.code_review.disguise import disguise
from quizapp.interview.code_review.model import CodeReview, ReviewFault
from quizapp.interview.code_review.proof import prove, test_problem
from quizapp.judge.verdict import ProgramOutcome, ProgramRun

SOLUTION = "def mean(values):\n    n = len(values)\n    return sum(values) / n\n\ndef zero():\n    return 0\n"
VARIANT = "def mean(values):\n    return sum(value / len(values) for value in values)\n\nzero = int\n"
WRONG = SOLUTION.replace("/ n", "/ (n + 1)")
TWICE = WRONG.replace("return 0", "return 1")
MUTANTS = """
- name: not_imported
  breaks: 1
  edits:
    - replace: 'def zero():'
      with: |-
        raise ValueError
        def zero():
- name: one
  breaks: 2
  edits: [{replace: return 0, with: return 1}]
"""
test_problem.__test__ = False  # type: ignore[attr-defined] # not a test of this file


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    (tmp_path / "right").mkdir()
    (tmp_path / "solution.py").write_text(SOLUTION)
    (tmp_path / "right" / "variant.py").write_text(VARIANT)
    (tmp_path / "mutants.yaml").write_text(MUTANTS)
    loaded, _ = load_exercise(paths.exercises() / "lora")
    assert loaded is not None
    return replace(loaded, folder=tmp_path)


def review(shown: str = WRONG, *alone: str) -> CodeReview:
    faults = tuple(ReviewFault(f"m{n}", (n,), "w", (1,), text) for n, text in enumerate(alone, 1))
    return CodeReview(
        exercise="mean",
        title="Mean",
        module="mean.py",
        seed=1,
        program="solution",
        original=SOLUTION,
        shown=shown,
        faults=faults,
        minutes=4,
    )


def run_here(test: str, programs: Sequence[str], seed: int) -> list[ProgramRun]:
    """Run a harmless test in this process; ``m.seed`` is the seed."""
    runs = []
    for source in programs:
        module, space = types.ModuleType("mean"), {}
        try:
            exec(source, module.__dict__)
            module.seed, module.text = seed, source  # type: ignore[attr-defined]
            exec(test, space)
            space["check"](module)
            runs.append(ProgramRun(ProgramOutcome.HELD))
        except AssertionError:
            runs.append(ProgramRun(ProgramOutcome.FAILED, "AssertionError in line 2 of your test"))
        except Exception as error:  # noqa: BLE001 - a test may raise anything
            runs.append(ProgramRun(ProgramOutcome.ERROR, str(error)))
    return runs


KILLS = "def check(m):\n    assert m.mean([2, 4]) == 3\n"


def test_a_killing_test_is_accepted(exercise: Exercise) -> None:
    proof = prove(review(WRONG, WRONG), exercise, KILLS, run_here)
    assert proof.accepted
    assert proof.caught == ["m1"]
    assert "fails on the code shown" in proof.text


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("def check(m):\n    pass\n", "holds on the code shown too"),
        ("def check(m):\n    assert False\n", "does not hold on a correct solution"),
        ("def check(m):\n    assert m.zero.__name__ == 'zero'\n", "refuses another correct solution"),
        ("def check(m):\n    assert m.text.startswith('def mean')\n", "a copy of it with other names"),
        ("def check(m):\n    assert m.seed == 1\n", "does not hold the second time it ran"),
        ("def check(m):\n    assert m.mean([2, 4]) == 3 or m.seed == 2\n", "only sometimes"),
        ("", "There is no test yet"),
        ("def check(m\n", "not valid Python"),
        ("def check():\n    pass\n", "defines no check(m)"),
        ("def test(m):\n    pass\n", "defines no check(m)"),
        ("import inspect\ndef check(m):\n    pass\n", "remove 'inspect' (line 1)"),
        ("def check(m):\n    m.mean.__code__\n", "remove '__code__' (line 2)"),
        ("def check(m):\n    getattr(m.mean, '__code__')\n", "remove '__code__'"),
        ("import torch\ndef check(m):\n    torch.sys._getframe()\n", "remove '_getframe'"),
    ],
)
def test_a_test_that_proves_nothing_is_refused(exercise: Exercise, test: str, text: str) -> None:
    proof = prove(review(WRONG, WRONG), exercise, test, run_here)
    assert not proof.accepted
    assert text in proof.text


@pytest.mark.parametrize("call", ["layer.eval()", "torch.compile(f)", "m.mean([1])", "'the gc and sys'"])
def test_ordinary_calls_are_not_mistaken_for_looking_at_source(call: str) -> None:
    assert test_problem(f"def check(m):\n    {call}\n") == ""


def test_with_several_faults_the_test_catches_those_that_fail_alone(exercise: Exercise) -> None:
    alone = (WRONG, SOLUTION.replace("return 0", "return 1"))
    proof = prove(review(TWICE, *alone), exercise, KILLS, run_here)
    assert proof.caught == ["m1"]
    both = KILLS + "    assert m.zero() == 0\n"
    assert prove(review(TWICE, *alone), exercise, both, run_here).caught == ["m1", "m2"]


def test_on_correct_code_the_test_must_catch_a_mutant(exercise: Exercise) -> None:
    correct = review(SOLUTION)
    proof = prove(correct, exercise, "def check(m):\n    assert m.zero() == 0\n", run_here)
    assert proof.accepted
    assert proof.caught == ["one"]
    # A mutant that cannot be imported fails every test, so it proves nothing.
    nothing = prove(correct, exercise, "def check(m):\n    pass\n", run_here)
    assert nothing.caught == []
    assert "catches none of the 2 mutants" in nothing.text


def test_a_disguised_program_looks_different_and_does_the_same() -> None:
    text = (
        "class A:\n    size: int = 2\n\n    def f(self, x):\n        total = [0]\n"
        "        def add(y):\n            part = y + self.size\n            total[0] += part\n"
        "        for item in x:\n            add(item)\n        return total[0]\n\n"
        "    def g(self):\n        return len(str(self.size))\n\n"
        "def h(x, size=A.size):\n    return A().f([x]) * size\n\n"
        "def k(x):\n    match x:\n        case [first, *rest]:\n            return first, rest\n"
        "    try:\n        value = x[0]\n    except TypeError as error:\n        return error.args\n"
        "    return value\n"
    )
    changed = disguise(text)
    spaces: list[dict[str, object]] = [{}, {}]
    for space, source in zip(spaces, (text, changed), strict=True):
        exec(source, space)
    for space in spaces:
        assert space["h"](3) == 10  # type: ignore[operator]
        assert space["k"]([1, 2]) == (1, [2])  # type: ignore[operator]
        assert space["k"](3)[0].startswith("'int' object")  # type: ignore[operator]
    assert "total" not in changed
    assert "part" not in changed
    assert changed.index("def g") < changed.index("def f")
    assert changed.index("class A") < changed.index("def h")  # its default value needs the class
