"""Renders a report as Markdown, HTML or JSON, and writes all three to files."""

import json
from collections.abc import Mapping
from pathlib import Path

from quizapp.bank.model import Topic
from quizapp.interview.report.model import Report
from quizapp.interview.report.text import NO_TOPICS, name_topics
from quizapp.util.atomic import write_atomic

FORMATS = ("md", "html", "json")


def rendered(report: Report, form: str, topics: Mapping[str, Topic] = NO_TOPICS) -> str:
    """Return the report as Markdown or HTML with the names of ``topics``, or as JSON with their ids."""
    if form == "html":
        from quizapp.interview.report.html import as_html

        return as_html(name_topics(report, topics))
    if form == "json":
        return json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n"
    from quizapp.interview.report.markdown import as_markdown

    return as_markdown(name_topics(report, topics))


def write_reports(report: Report, folder: Path, topics: Mapping[str, Topic]) -> list[Path]:
    """Write all three forms into the folder, which is created if needed. Raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for form in FORMATS:
        path = folder / f"{report.form.name}-{report.started[:10]}-{report.id}.{form}"
        write_atomic(path, rendered(report, form, topics))
        paths.append(path)
    return paths
