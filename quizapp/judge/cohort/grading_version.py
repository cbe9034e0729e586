"""What a verdict depends on beside the submission: the exercise's files and the judge's code."""

import hashlib
from functools import cache
from pathlib import Path

from quizapp import __version__
from quizapp.bank.model import Exercise

_JUDGE = Path(__file__).resolve().parent.parent
# The client and what renders verdicts have no part in them.
_GRADING_PARTS = ("sandbox", "server", "testing", "worker")


def exercise_version(exercise: Exercise) -> str:
    """A hash of the files from which an exercise is graded. The same content has the same on any machine."""
    files = [exercise.folder / "exercise.yaml", exercise.folder / "probes.py"]
    return _hash([*files, *sorted((exercise.folder / "hidden").glob("*.py"))])


@cache
def judge_version() -> str:
    """The program's version and a hash of the judge's code, which may change while the version stays."""
    files = [_JUDGE / "verdict.py"]
    for part in _GRADING_PARTS:
        files += sorted((_JUDGE / part).glob("*.py"))
    return f"{__version__}+{_hash(files)}"


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
