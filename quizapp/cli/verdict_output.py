"""Writes a verdict as the options of a command ask: text or JSON, and a JUnit report."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from quizapp.bank.model import Exercise

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict


def write_verdict(
    verdict: "Verdict", chosen: Exercise, options: Namespace, *, run: Mapping[str, object] | None = None
) -> None:
    """Write one verdict. ``run`` is what it means for a run in stages or with faults, a key of the JSON."""
    from quizapp.judge.render.text import WIDTH, verdict_text

    if options.junit is not None:
        from quizapp.judge.render.junit import write_junit

        write_junit(options.junit, [verdict])
    if options.json:
        document = verdict.as_json() if run is None else {**verdict.as_json(), "run": run}
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        columns = get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH
        width = max(40, min(WIDTH, columns))
        text = verdict_text(verdict, chosen, width, color=has_color(), every_message=options.all)
        sys.stdout.write(text + "\n")
    sys.stdout.flush()


def has_color() -> bool:
    """Whether standard output is a terminal that shows colors, and the user has not asked for none."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def clear_screen() -> None:
    """Begin at the top of an empty terminal; a pipe or a file gets nothing."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write("\x1b[H\x1b[2J\x1b[3J")
        sys.stdout.flush()
