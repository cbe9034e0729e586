"""Help that stands in for a manual: each command says what it does, with an example that parses."""

import argparse
import shlex
from importlib import import_module

import pytest

from quizapp.cli.main import main
from quizapp.cli.parser import EXAMPLES, build_parser


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dril"], "'dril'; did you mean 'drill'? 'quizapp --help' shows the usage"),
        (["mock", "reprot"], "'reprot'; did you mean 'report'? 'quizapp mock --help' shows the usage"),
        (["mock", "--round", "bad"], "(choose from 'mixed', 'quiz', "),
        (["xyzzy"], "'restore', 'completion'"),
        (["incident", "one", "two"], "unrecognized arguments: two; 'quizapp incident --help' shows"),
        (["deck", "add", "x", "--all"], "unrecognized arguments: --all; 'quizapp deck --help' shows"),
    ],
)
def test_a_slip_in_a_command_is_told_the_nearest(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_help_of_a_command_holds_an_example_that_parses(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "Example:" in shown
    assert "Exit codes" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())
    example = EXAMPLES[name][0]
    if not example.startswith("eval"):
        words = shlex.split(example.split("|")[0])
        assert isinstance(build_parser().parse_args(words), argparse.Namespace)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_function_behind_a_command_exists(name: str) -> None:
    module, _, function = build_parser().commands[name].get_default("run").args[0].partition(".")
    assert callable(getattr(import_module(f"quizapp.cli.{module}"), function))
