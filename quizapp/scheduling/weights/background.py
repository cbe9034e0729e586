"""Fitting the weights after a session: a process of its own, so that nobody waits and no drill loads torch.

Started by the interface when a session ends; it outlives the interface by some seconds at most. What it
found is kept in a note beside the cache, and said when it comes or at the next start.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from quizapp import paths
from quizapp.errors import QuizError

LEAST = 400
"""Reviews on later days below which nothing is fitted."""
DEADLINE = 120
"""Seconds after which the fitting ends by itself."""


def start() -> "subprocess.Popen[bytes]":
    """Begin in the background, detached. Raises `OSError` where no process can be started."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "quizapp.scheduling.weights.background"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def news() -> str:
    """What the last fitting changed, once; empty where nothing did or it was said already."""
    note = _read()
    sentence = str(note.get("sentence") or "")
    if sentence:
        _write(note | {"sentence": ""})
    return sentence


def _note() -> Path:
    return paths.cache() / "refit.json"


def _read() -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(_note().read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _write(note: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # without the note the next session fits again
        _note().parent.mkdir(parents=True, exist_ok=True)
        _note().write_text(json.dumps(note), encoding="utf-8")


def worth_it(telling: int, before: int) -> bool:
    """Whether ``telling`` reviews on later days are enough, and a tenth more than were fitted ``before``."""
    return telling >= LEAST and telling >= before + max(50, before // 10)


def main() -> int:
    """Fit if there is enough that is new; note what came of it."""
    if hasattr(signal, "alarm"):
        signal.alarm(DEADLINE)
        os.nice(10)
    from quizapp.scheduling.service import Study

    with Study.open() as study:
        telling = sum(review.elapsed > 0 for review in study.store.tables.reviews())
        if not worth_it(telling, int(_read().get("reviews") or 0)):
            return 0
        found = study.fit_weights(least=LEAST)
    sentence = ""
    if found.taken and found.loss_before is not None and found.loss_after is not None:
        sentence = (
            f"The memory model was fitted to your {found.reviews} reviews: its log loss on the latest fell "
            f"from {found.loss_before:.3f} to {found.loss_after:.3f}. Dates already promised stay."
        )
    _write({"reviews": telling, "sentence": sentence})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (QuizError, ImportError, OSError):  # without torch, or with the data in trouble: another time
        sys.exit(1)
