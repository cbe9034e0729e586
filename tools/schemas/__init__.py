"""Publishes JSON schemas of the program's documents, generated from the types that write and read them.

``python -m tools.schemas`` writes ``docs/schemas/*.json``. A test fails if one of these files no longer
matches its type. To publish another schema, add it to `SCHEMAS`.
"""

import json
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(document: Any, title: str) -> Schema:
    """Return the JSON schema of a type: a dataclass, a ``msgspec.Struct`` or a ``TypedDict``.

    The docstrings of the types become descriptions.
    """
    import msgspec

    return {"$schema": _DIALECT, "title": title, **msgspec.json.schema(document)}


def _without_indent(part: Any) -> Any:
    """``part`` of a schema with descriptions as Python 3.13 keeps docstrings, whichever Python runs this."""
    if isinstance(part, dict):
        cleaned = {key: _without_indent(value) for key, value in part.items()}
        if isinstance(part.get("description"), str):
            cleaned["description"] = cleandoc(part["description"])
        return cleaned
    return [_without_indent(each) for each in part] if isinstance(part, list) else part


def _verdict() -> Schema:
    from quizapp.judge.verdict import VerdictJson

    return schema_of(VerdictJson, "The verdict of `quizapp grade --json`")


def _question() -> Schema:
    from tools.schemas.question import question_schema

    return {"$schema": _DIALECT, "title": "A file of questions", **question_schema()}


def _report() -> Schema:
    from tools.schemas.report import report_schema

    return {"$schema": _DIALECT, **report_schema(), "title": "The report of an interview, `quizapp.mock/1`"}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "question": _question,
    "report": _report,
    "verdict": _verdict,
}
"""Builders by file name without ``.json``. Each imports its types only when called."""


def schema_text(name: str) -> str:
    """Return the schema ``name`` as the text of its file."""
    return json.dumps(_without_indent(SCHEMAS[name]()), indent=2, ensure_ascii=False) + "\n"
