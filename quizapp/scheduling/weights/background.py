"""Fits the weights after a session, in a separate process: nobody waits, and no drill loads torch.

The interface starts it when a session ends; it outlives the interface by some seconds at most. Its result
is kept in a note in the cache and shown when it arrives, or at the next start.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.scheduling.models.model import ModelName
from quizapp.util.atomic import write_atomic

if TYPE_CHECKING:
    from quizapp.scheduling.weights.fit import FitResult

LEAST = 400
"""Reviews on later days below which nothing is fitted."""
DEADLINE = 120
"""Seconds after which a fit ends itself."""


def start() -> "subprocess.Popen[bytes]":
    """Begin in the background, detached. Raises `OSError` where no process can be started."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "quizapp.scheduling.weights.background"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def news() -> str:
    """What the last fit changed, once; empty where nothing changed or the sentence was shown already."""
    sentence = ""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        sentence = str(json.loads(_note().read_text(encoding="utf-8")).get("sentence") or "")
    if sentence:
        _write("")
    return sentence


def _note() -> Path:
    return paths.cache() / "refit.json"


def _write(sentence: str) -> None:
    with contextlib.suppress(OSError):  # a sentence that cannot be written is not shown
        write_atomic(_note(), json.dumps({"sentence": sentence}))


def worth_it(spaced: int, before: int) -> bool:
    """Whether ``spaced`` reviews on later days are enough, and twice as many as were fitted ``before``."""
    return spaced >= max(LEAST, 2 * before)


def main() -> int:
    """Fit if there is enough that is new; note what came of it."""
    if hasattr(signal, "alarm"):
        signal.alarm(DEADLINE)
        os.nice(10)
    from quizapp.scheduling.service import Study
    from quizapp.scheduling.weights.fit import last_fit

    with Study.open() as study:
        spaced = sum(review.elapsed > 0 for review in study.store.tables.reviews())
        if not worth_it(spaced, last_fit(study)[0]):
            return 0
        used = study.scheduler.model.name
        fitted = study.fit_weights(least=LEAST)
        if fitted.adopted and fitted.model is study.scheduler.model.name:
            _write(_sentence(fitted, used))
    return 0


def _sentence(fitted: "FitResult", used: ModelName) -> str:
    assert fitted.loss_before is not None
    assert fitted.loss_after is not None
    fell = f"fell from {fitted.loss_before:.3f} to {fitted.loss_after:.3f}"
    if fitted.model is not used:
        return (
            f"{fitted.model} predicts your latest reviews better than {used}, so it schedules from now on: "
            f"the log loss {fell}. Dates already promised stay."
        )
    return (
        f"The memory model was fitted to your {fitted.reviews} reviews: its log loss on the latest {fell}. "
        "Dates already promised stay."
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (QuizError, ImportError, OSError):  # without a trainer, or with the data in trouble: another time
        sys.exit(1)
