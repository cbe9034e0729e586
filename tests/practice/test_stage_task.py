"""What interview mode shows of an exercise."""

import ast

import pytest

from quizapp import paths
from quizapp.bank.model import Stage
from quizapp.bank.parse_exercise import load_exercise, load_exercises
from quizapp.practice.stage_task import interface_section, stage_task, without_docstrings


def test_the_task_shows_the_newest_brief_and_the_whole_interface() -> None:
    lora, _ = load_exercise(paths.exercises() / "lora")
    assert lora is not None

    task = stage_task(lora.prompt, lora.stages[:2])

    inject, interface, adapter = map(
        task.index, ("Stage 2: inject (8 minutes)", "## Interface", "Stage 1: adapter")
    )
    assert inject < interface < adapter
    assert "def inject_lora(" in task
    # Not only the code block: names and formula below it belong to the interface.
    assert "`lora_B`, shape (out_features, rank)" in task
    assert "base(x) + (alpha / rank) * dropout(x)" in task
    # Neither what the tests check nor what comes later.
    assert "bit-for-bit" not in task
    assert lora.stages[2].brief not in task


def test_every_exercise_has_an_interface_section_with_code() -> None:
    exercises, faults = load_exercises(paths.exercises())
    assert not faults
    for exercise in exercises.values():
        section = interface_section(exercise.prompt)
        assert section.startswith("```python"), exercise.slug
        assert section.count("```") % 2 == 0, exercise.slug
        assert "What it must do" not in section, exercise.slug


def test_an_exercise_without_stages_shows_its_prompt() -> None:
    assert stage_task("# Title\n\nDo it.\n", (Stage("all", 20, "", (1,)),)) == "# Title\n\nDo it."


def test_every_starter_is_the_same_program_without_docstrings() -> None:
    exercises, _ = load_exercises(paths.exercises())
    for exercise in exercises.values():
        tree = ast.parse(without_docstrings(exercise.starter))
        assert not any(
            ast.get_docstring(node)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        ), exercise.slug
        stripped = ast.parse(exercise.starter)
        for node in ast.walk(stripped):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                node.body = node.body[1:] or [ast.Expr(ast.Constant(...))]
        assert ast.dump(tree) == ast.dump(stripped), exercise.slug


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('def f():\n    """Says."""\n    # why\n    return 1\n', "def f():\n    # why\n    return 1\n"),
        ('class A:\n    """One.\n\n    More.\n    """\n\n    x = "é"\n', 'class A:\n    x = "é"\n'),
        ('def f(): "Only."\n', "def f(): ...\n"),
        ('class A:\n    """Only."""\n', "class A:\n    ...\n"),
        ('def f():\n    "One."; return 1\n', "def f():\n    return 1\n"),
        ('def f():\n    x = """not a docstring"""\n', 'def f():\n    x = """not a docstring"""\n'),
    ],
)
def test_docstrings_go_and_everything_else_stays(source: str, expected: str) -> None:
    assert without_docstrings(source) == expected
