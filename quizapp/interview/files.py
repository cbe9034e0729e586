"""The report in its three forms, as text and as files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quizapp.interview.alone import is_alone

FORMATS = ("md", "html", "json")


def rendered(document: Mapping[str, Any], form: str) -> str:
    """The report as Markdown, HTML or JSON."""
    if form == "html":
        from quizapp.interview.html import as_html

        return as_html(document)
    if form == "json":
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    from quizapp.interview.markdown import as_markdown

    return as_markdown(document)


def write_reports(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write all three forms; raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    what = "incident" if is_alone(document) else "mock"
    for form in FORMATS:
        path = folder / f"{what}-{document['started'][:10]}-{document['id']}.{form}"
        path.write_text(rendered(document, form), encoding="utf-8")
        written.append(path)
    return written
