"""The report in its three forms, as text and as files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quizapp.bank.model import Topic
from quizapp.interview.blueprint import form_of
from quizapp.interview.report.topic_names import NONE, named

FORMATS = ("md", "html", "json")


def rendered(document: Mapping[str, Any], form: str, topics: Mapping[str, Topic] = NONE) -> str:
    """The report as Markdown or HTML, which name the ``topics``, or as it is stored, in JSON."""
    if form == "html":
        from quizapp.interview.report.html import as_html

        return as_html(named(document, topics))
    if form == "json":
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    from quizapp.interview.report.markdown import as_markdown

    return as_markdown(named(document, topics))


def write_reports(document: Mapping[str, Any], folder: Path, topics: Mapping[str, Topic]) -> list[Path]:
    """Write all three forms; raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    name = form_of(document).name
    for form in FORMATS:
        path = folder / f"{name}-{document['started'][:10]}-{document['id']}.{form}"
        path.write_text(rendered(document, form, topics), encoding="utf-8")
        written.append(path)
    return written
