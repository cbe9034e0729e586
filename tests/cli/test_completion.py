"""Completion scripts: what each shell offers, and that slugs and ids are asked of the program itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calling import run

TRY = """
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()
_shtab_quizapp
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(script: str, words: str) -> list[str]:
    """What bash completes after ``words``, the last being incomplete."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script + TRY.format(words=words)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("quizapp ex", {"exercise", "export"}),
        ("quizapp drill --level ''", {"easy", "medium", "hard"}),
        ("quizapp grade lora --jun", {"--junit"}),
        ("quizapp answer lr-warmup ''", {"again", "hard", "good", "easy"}),
        ("quizapp exercise dor", {"dora"}),
        ("quizapp grade dor", {"dora"}),
        ("quizapp show lr-warmup-tiny", {"lr-warmup-tiny-gradient"}),
        ("quizapp answer lr-warmup-tiny", {"lr-warmup-tiny-gradient"}),
        ("quizapp incident healthy-until", {"healthy-until-step-11"}),
    ],
)
def test_bash_completes_words_and_names(
    capsys: pytest.CaptureFixture[str], words: str, expected: set[str]
) -> None:
    assert set(offered(run(capsys, "completion", "bash")[1], words)) == expected


def test_zsh_and_fish_ask_the_program_for_names(capsys: pytest.CaptureFixture[str]) -> None:
    zsh = run(capsys, "completion", "zsh")[1]
    fish = run(capsys, "completion", "fish")[1]
    for command in ("exercise", "questions", "incident"):
        assert f"quizapp {command} 2>/dev/null" in zsh
        assert f"(quizapp {command} 2>/dev/null | cut -d' ' -f1)" in fish
    assert zsh.startswith("#compdef quizapp")
    assert "complete -c quizapp -n '__fish_seen_subcommand_from grade' -l watch" in fish
    assert (
        "complete -c quizapp -n '__fish_seen_subcommand_from drill' -l level -x -a 'easy medium hard'" in fish
    )
