"""Past submissions and differences between two versions of the code, as text."""

import difflib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual.content import Content

from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.store.documents import Submission


def past_line(submission: "Submission") -> str:
    """When a submission was graded, and how it went."""
    when = datetime.fromtimestamp(submission.time / 1000, UTC).astimezone()
    share = f"  {submission.tests_passed} of {submission.tests} tests" if submission.tests else ""
    return f"{when:%Y-%m-%d %H:%M}  {submission.status}{share}"


def diff(before: str, after: str) -> Content:
    """The difference between two texts, or that there is none."""
    return diff_lines(before, after) or Content("No difference.")


def diff_lines(before: str, after: str) -> Content:
    """The lines of a unified diff; empty without a difference."""
    lines = []
    old, new = (escape_controls(text).splitlines() for text in (before, after))
    for line in difflib.unified_diff(old, new, lineterm="", n=3):
        if line.startswith(("---", "+++")):
            continue
        style = {"+": "$success", "-": "$error", "@": "$primary"}.get(line[:1], "$text-muted")
        lines.append(Content.styled(line, style))
    return Content("\n").join(lines)
