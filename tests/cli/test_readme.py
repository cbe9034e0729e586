"""What the README shows is what the program prints."""

import re
from pathlib import Path

import pytest

from quizapp.cli.main import main
from quizapp.judge.authoring.mutants import wrong_submission

pytestmark = [pytest.mark.judge, pytest.mark.usefixtures("warm_judge")]

ROOT = Path(__file__).parents[2]


def plain(text: str) -> str:
    """Without drawn numbers and line breaks."""
    return re.sub(
        r"-?\d+\.\d+(e-\d+)?|off by \d+|\[[\d, ]+\]|Linear\(\d, \d\)|\(\d,\)", "#", " ".join(text.split())
    )


def test_the_verdict_in_the_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"\$ quizapp grade lora\n(.*?)\n  \.\.\.", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    wrong = tmp_path / "scaled_by_alpha.py"
    wrong.write_text(wrong_submission(ROOT / "exercises" / "lora", "scaled_by_alpha").source)
    assert main(["grade", "lora", str(wrong), "--seed", "1"]) == 1
    assert plain(capsys.readouterr().out).startswith(plain(shown[1]))
