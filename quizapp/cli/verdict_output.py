"""Writes a verdict as the options of a command ask: text or JSON, and a JUnit report."""

import json
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
        sys.stdout.write(verdict_text(verdict, chosen, max(40, min(WIDTH, columns))) + "\n")
    sys.stdout.flush()
