"""A live incident in sentences: the runs that were made, and what the judge measured."""

import difflib
from collections.abc import Iterator

from quizapp.interview.session.question import InterviewQuestion
from quizapp.util.text import plural

MARGIN = 2


def live_lines(item: InterviewQuestion) -> Iterator[str]:
    """What happened live, one sentence a line; nothing for an incident that was only read."""
    if item.live is None:
        return
    work = item.live_work
    for run in work.runs:
        script = "the edited script" if run.edited else "the script as it was"
        text = f": {' '.join(run.text.split())}" if run.text else ""
        yield f"{run.command.text} with {script}, {run.price} s: {run.outcome}{text}"
    if not work.runs:
        yield "No run was made."
    if work.committed_ms is None:
        yield "No cause was committed, so the script stayed closed."
    measured = work.measured
    if measured is None:
        yield "The judge has not measured it."
        return
    yield f"Reproduction: {measured.replay_text}"
    yield f"Repair: {measured.fix_text}"
    if measured.nodes is not None:
        nodes = plural(measured.nodes, "node")
        reference = item.live_task.repair_nodes
        yield f"Its size: {nodes} of the syntax tree changed; the reference changes {reference}."
    yield f"Guard: {measured.guard_text}"


def repair_lines(item: InterviewQuestion) -> list[str]:
    """The learner's changes to the broken script, as a unified difference without its head."""
    if item.live is None:
        return []
    task = item.live_task
    before, after = task.broken.splitlines(), item.live.script(task).splitlines()
    return list(difflib.unified_diff(before, after, lineterm="", n=MARGIN))[2:]


def reference_lines(item: InterviewQuestion) -> list[str]:
    """The reference repair as a unified difference without its head."""
    if item.live is None:
        return []
    task = item.live_task
    before, after = task.broken.splitlines(), task.healthy.splitlines()
    return list(difflib.unified_diff(before, after, lineterm="", n=MARGIN))[2:]
