"""What the interfaces call to have a submission graded; imports neither torch nor the user's code."""

import base64
import contextlib
import subprocess
from pathlib import Path
from typing import Any

from quizapp.bank.model import Exercise
from quizapp.errors import INTERNAL, QuizError
from quizapp.judge import wire
from quizapp.judge.launch import start_judge
from quizapp.judge.verdict import Verdict
from quizapp.judge.workspace import check_source, read_source


class JudgeFailed(QuizError):
    """The judge itself failed; details are in the log."""

    exit_code = INTERNAL


def grade(
    exercise: Exercise,
    source: Path | bytes,
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
) -> Verdict:
    """The verdict on one submission: a file, or its bytes.

    ``timeout`` in seconds for one run (default: the exercise's own); ``seed`` reproduces a verdict;
    ``tier`` (T0 to T3) forces a lower isolation. A file that cannot be graded, an absent device and the
    like raise `QuizError`.
    """
    order = order_message(exercise, source, device=device, timeout=timeout, seed=seed, tier=tier)
    process, sock = start_judge()
    try:
        with sock:
            wire.send(sock, order | {"id": 1})
            answer = wire.receive(sock)
    except OSError as error:
        raise JudgeFailed(f"The judge ended before its verdict ({error}).") from None
    finally:
        _end(process)
    return read_answer(answer)


def order_message(
    exercise: Exercise,
    source: Path | bytes,
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
) -> dict[str, Any]:
    """The order to a judge as a frame; refuses what cannot be graded."""
    if isinstance(source, bytes):
        code, file = check_source(source, exercise.module), exercise.module
    else:
        code, file = read_source(source), str(source)
    return {
        "op": "grade",
        "folder": str(exercise.folder),
        "source": base64.b64encode(code).decode(),
        "file": file,
        "device": device,
        "timeout": timeout,
        "seed": seed,
        "tier": tier,
    }


def read_answer(answer: dict[str, Any] | None) -> Verdict:
    """The verdict in a judge's answer; raises what went wrong instead."""
    if answer is None:
        raise JudgeFailed("The judge ended before its verdict; grade once more.")
    if "verdict" in answer:
        return Verdict.from_json(answer["verdict"])
    if "fault" in answer:
        error = QuizError(answer["fault"])
        error.exit_code = answer["exit"]
        raise error
    raise JudgeFailed(f"The judge failed: {answer.get('broken', 'no reason given')}")


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2.0)
        return
    process.kill()
    process.wait()
