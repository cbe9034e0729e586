"""Writes the review log to a file: every event as JSON lines, or the reviews not undone as CSV."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp.errors import QuizError

if TYPE_CHECKING:
    from quizapp.scheduling.events import Event
    from quizapp.scheduling.service import Study

_COLUMNS = ("time", "card", "rating", "proposed", "seconds", "hints", "source", "interval_days")


def write_log(study: "Study", path: Path, kind: str) -> int:
    """Write the log to ``path`` and return the number of rows. Raises `QuizError`.

    ``json`` contains every event, one JSON object per line. ``csv`` contains the reviews not undone.
    """
    events = study.events() if kind == "json" else study.standing_answers()
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            if kind == "json":
                file.writelines(json.dumps(event._asdict()) + "\n" for event in events)
            else:
                writer = csv.writer(file)
                writer.writerow(_COLUMNS)
                writer.writerows(_row(event) for event in events)
    except OSError as error:
        raise QuizError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from None
    return len(events)


def _row(event: "Event") -> tuple[object, ...]:
    when = datetime.fromtimestamp(event.time / 1000, UTC).isoformat(timespec="seconds")
    days = "" if event.interval is None else round(event.interval / 86400, 4)
    return when, event.card, event.rating, event.proposed, event.ms / 1000, event.hints, event.source, days
