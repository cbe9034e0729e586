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
from typing import NamedTuple

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.util.atomic import write_atomic

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


class _FitNote(NamedTuple):
    """What the last fit left behind: the reviews it saw, and the sentence that nobody has read yet."""

    reviews: int = 0
    sentence: str = ""


def news() -> str:
    """What the last fit changed, once; empty where nothing changed or the sentence was shown already."""
    note = _read()
    if note.sentence:
        _write(note._replace(sentence=""))
    return note.sentence


def _note() -> Path:
    return paths.cache() / "refit.json"


def _read() -> _FitNote:
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        note = json.loads(_note().read_text(encoding="utf-8"))
        return _FitNote(int(note.get("reviews") or 0), str(note.get("sentence") or ""))
    return _FitNote()


def _write(note: _FitNote) -> None:
    with contextlib.suppress(OSError):  # without the note the next session fits again
        write_atomic(_note(), json.dumps(note._asdict()))


def worth_it(spaced: int, before: int) -> bool:
    """Whether ``spaced`` reviews on later days are enough, and a tenth more than were fitted ``before``."""
    return spaced >= LEAST and spaced >= before + max(50, before // 10)


def main() -> int:
    """Fit if there is enough that is new; note what came of it."""
    if hasattr(signal, "alarm"):
        signal.alarm(DEADLINE)
        os.nice(10)
    from quizapp.scheduling.service import Study

    with Study.open() as study:
        spaced = sum(review.elapsed > 0 for review in study.store.tables.reviews())
        if not worth_it(spaced, _read().reviews):
            return 0
        fitted = study.fit_weights(least=LEAST)
    sentence = ""
    if fitted.adopted and fitted.loss_before is not None and fitted.loss_after is not None:
        sentence = (
            f"The memory model was fitted to your {fitted.reviews} reviews: its log loss on the latest fell "
            f"from {fitted.loss_before:.3f} to {fitted.loss_after:.3f}. Dates already promised stay."
        )
    _write(_FitNote(spaced, sentence))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (QuizError, ImportError, OSError):  # without a trainer, or with the data in trouble: another time
        sys.exit(1)
