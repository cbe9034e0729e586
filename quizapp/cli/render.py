"""Statistics as plain text."""

from collections.abc import Mapping
from typing import Any

from quizapp.util.text import plural


def stats_text(stats: Mapping[str, Any]) -> str:
    """The figures that matter, one line each, then a line per topic."""
    retention = stats.get("retention")
    lines = [
        f"reviews    {stats['reviews']}",
        f"due        {stats['due']}",
        f"new        {stats['new']}",
        f"learned    {stats['learned']}",
        f"retention  {'-' if retention is None else f'{100 * retention:.1f} %'}",
    ]
    lines += [
        f"  {name:18} {row['learned']:4} of {row['total']:4} learned, {plural(row['reviews'], 'review')}"
        for name, row in stats.get("topics", {}).items()
    ]
    return "\n".join(lines)
