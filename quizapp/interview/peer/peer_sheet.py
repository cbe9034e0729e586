"""A sheet for a friend: the frozen answers as one text file to mark anywhere, and to read back."""

import re
from collections.abc import Iterator
from pathlib import Path

from quizapp.errors import QuizError
from quizapp.interview.peer.peer_review import (
    ANSWERS,
    PeerStep,
    answers_to_mark,
    build_review,
    columns_of,
    opening,
    review_steps,
)
from quizapp.interview.report.model import PeerReview, Report
from quizapp.util.sanitize import escape_unprintable

_MAX_BYTES = 4 << 20
_HEAD = "quizapp sheet for interview"
_NAME = "Your name:"
_BOX = re.compile(r"^\[([^\]]*)\]")
_HOW = """
Put y (said), h (half of it) or n (not said) between the brackets of every line that begins with [ ].
A misconception takes only y (stated) or n. Change nothing else, and send the file back.
"""


def sheet_text(report: Report) -> str:
    """The sheet of a report, without the learner's own marks."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"{_HEAD} {report.id}"
    yield _NAME
    yield _HOW
    questions = answers_to_mark(report)
    for question in questions:
        # A box in the learner's own text must not be taken for one of the sheet.
        yield from (_unboxed(line) for line in escape_unprintable(opening(question, questions)).splitlines())
        for step in review_steps(question):
            first, *rest = escape_unprintable(step.text).splitlines() or [""]
            yield f"[ ] {first}"
            yield from (f"    {line}" for line in rest)


def _unboxed(line: str) -> str:
    return f" {line}" if line.startswith("[") else line


def read_sheet(report: Report, path: Path) -> PeerReview:
    """Read a sheet that was filled in. Raises `QuizError` with the line of the first fault."""
    lines = _read(path)
    if not lines or not lines[0].startswith(_HEAD):
        raise QuizError(f"{path} is not a sheet; 'quizapp mock sheet {report.id} > FILE' writes one")
    if lines[0].removeprefix(_HEAD).strip() != report.id:
        raise QuizError(f"{path} is the sheet of interview {lines[0].removeprefix(_HEAD).strip()[:40]}")
    name = next((line.removeprefix(_NAME) for line in lines if line.startswith(_NAME)), "")
    questions = answers_to_mark(report)
    steps = [step for question in questions for step in review_steps(question)]
    boxes = [(number, match[1]) for number, line in enumerate(lines, 1) if (match := _BOX.match(line))]
    if len(boxes) != len(steps):
        raise QuizError(f"{path} has {len(boxes)} lines to mark, not {len(steps)}; write the sheet again")
    held = [_held(path, *box, step) for box, step in zip(boxes, steps, strict=True)]
    return build_review(report, " ".join(name.split())[:60] or "a friend", columns_of(questions, steps, held))


def _read(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise QuizError(f"{path} is too large for a sheet")
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise QuizError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise QuizError(f"{path} is not UTF-8 text; save it as such") from None


def _held(path: Path, line: int, answer: str, step: PeerStep) -> float:
    held = ANSWERS.get(answer.strip().casefold())
    if held is None or (held == 0.5 and not step.halves):
        wanted = "y, h or n" if step.halves else "y or n"
        raise QuizError(f"{path}:{line}: put {wanted} between the brackets, not '{answer.strip()[:20]}'")
    return held
