"""The exercise check finds what is wrong with an exercise; a scaffolded one is right from the start."""

import subprocess
import sys
from pathlib import Path

import pytest

from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.authoring.scaffold import scaffold


def check(*folders: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "quizapp.judge.authoring.exercise_check", *map(str, folders), "--seeds", "2"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.exhaustive
def test_a_scaffolded_exercise_passes_and_every_fault_of_a_broken_one_is_named(tmp_path: Path) -> None:
    good = scaffold(tmp_path / "good-one")
    bad = scaffold(tmp_path / "bad-one")
    assert load_exercise(good)[1] == []
    right = (bad / "right" / "right_1.py").read_text(encoding="utf-8")
    (bad / "wrong").mkdir()
    (bad / "wrong" / "wrong_1.py").write_text("# fails: 1\n" + right, encoding="utf-8")
    mutants = (bad / "mutants.yaml").read_text(encoding="utf-8")
    (bad / "mutants.yaml").write_text(
        mutants.replace("says: scaled mean", "says: not in any message", 1)
        .replace("replace: mean()\n      with: median()", "replace: mode()\n      with: median()")
        .replace("with: / factor", 'with: "* factor * 1.0"'),
        encoding="utf-8",
    )
    (bad / "right" / "right_2.py").write_text(
        "def scaled_mean(values, factor): return 0.0\n", encoding="utf-8"
    )
    (bad / "starter.py").write_text(right, encoding="utf-8")
    (bad / "exercise.yaml").write_text(
        (bad / "exercise.yaml").read_text(encoding="utf-8").replace("hints:", "  2: Unchecked.\nhints:"),
        encoding="utf-8",
    )
    code, text = check(good, bad)
    assert code == 1
    good_part, bad_part = text.split("bad-one ")
    names, *cells = (line.split() for line in good_part.splitlines())
    row = dict(zip(names, cells[0], strict=True))
    kept = [row[name] for name in ("behaviours", "wrong", "right", "named", "flaked")]
    assert kept == ["1", "8/8", "4/4", "8/8", "0/8"]
    assert float(row["seconds"]) > 0
    for fault in (
        "wrong/wrong_1.py should fail behavior [1]; it fails nothing",
        "mutants.yaml:1 sum_instead_of_mean: no message contains 'not in any message'; it says: ",
        "mutants.yaml:18: mutant 'median_instead_of_mean': 'replace' does not occur in solution.py: 'mode()'",
        "mutants.yaml:20 divided_by_the_factor should fail behavior [1]; it fails nothing",
        "right/right_2.py should pass",
        "[seed 1000]",
        "starter.py should fail, but passes",
        "behavior 2 is checked by no hidden test",
    ):
        assert fault in bad_part


def test_scaffold_refuses_bad_names_and_existing_folders(tmp_path: Path) -> None:
    with pytest.raises(QuizError, match="not a slug"):
        scaffold(tmp_path / "Not A Slug")
    scaffold(tmp_path / "once")
    with pytest.raises(QuizError, match="already exists"):
        scaffold(tmp_path / "once")
