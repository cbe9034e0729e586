"""An order to a judge as a frame, and what its answer means."""

import base64
import importlib.util
from pathlib import Path
from typing import Any

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.errors import INTERNAL, QuizError
from quizapp.judge.devices import check_name
from quizapp.judge.sandbox.tiers import TIERS
from quizapp.judge.submission import check_source, read_source
from quizapp.judge.verdict import ERROR, Verdict
from quizapp.util.log import write_log


class JudgeFailed(QuizError):
    """The judge itself failed; details are in the log."""

    exit_code = INTERNAL


def order_message(
    exercise: Exercise,
    source: Path | bytes,
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
) -> dict[str, Any]:
    """The order as a frame; refuses with a `QuizError` what cannot be graded."""
    check_name(device)
    if importlib.util.find_spec("torch") is None:
        raise JudgeFailed("torch is not installed, so nothing can be graded; 'pip install torch' adds it.")
    if timeout is not None and not 0 < timeout <= 3600:
        raise QuizError(f"A limit of {timeout:g} s makes no sense; give 0.1 to 3600.")
    if tier is not None and tier not in TIERS:
        raise QuizError(f"{tier!r} is no isolation tier; use {', '.join(TIERS)}.")
    if isinstance(source, bytes):
        code, file = check_source(source, exercise.module), exercise.module
    else:
        code, file = read_source(source), str(source)
    if seed is not None and not -(2**63) <= seed < 2**63:
        raise QuizError("A seed is an integer of at most 64 bits; take it from the verdict to repeat.")
    return {
        "op": "grade",
        "folder": str(exercise.folder.absolute()),
        "source": base64.b64encode(code).decode(),
        "file": file,
        "device": device,
        "timeout": timeout,
        "seed": seed,
        "tier": tier,
    }


def read_answer(answer: dict[str, Any]) -> Verdict:
    """The verdict in a judge's answer; raises what went wrong instead."""
    if "verdict" in answer:
        return Verdict.from_json(answer["verdict"])
    if "fault" in answer:
        error = QuizError(answer["fault"])
        error.exit_code = answer["exit"]
        raise error
    write_log(str(answer.get("broken", answer)))
    raise JudgeFailed(f"The judge failed; details are in {paths.log_file()}.")


def judge_broke() -> JudgeFailed:
    """The error for a judge that stopped by itself, whatever it was to grade."""
    return JudgeFailed(f"The judge cannot start or go on; details are in {paths.log_file()}.")


def lost_verdict(exercise: Exercise, order: dict[str, Any]) -> Verdict:
    """The verdict on code under which the judge died twice: only isolation T0 lets code do that."""
    return Verdict(
        exercise=exercise.slug,
        file=order["file"],
        device="cpu",
        status=ERROR,
        seed=order["seed"] or 0,
        tier=order["tier"] or "T0",
        error="The judge died twice while your code ran; code must not kill its parent.",
    )
