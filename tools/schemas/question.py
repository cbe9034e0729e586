"""The schema of question files, for editors, with the keys, types and limits of the loader.

It is that of users' decks, whose cards need little; `quizapp check` holds the bank to more.
"""

from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

from quizapp.bank import TRACKS, Level, QuestionKind
from quizapp.bank.decks.parse_question import (
    BY_KIND,
    COUNTS,
    ID,
    MAX_CHOICES,
    MAX_ENTRIES,
    MAX_ID,
    MAX_TERM,
    MAX_TEXT,
    NEEDED,
    OPTIONAL,
    REQUIRED,
    required_keys,
)
from quizapp.bank.model import FollowUp, KeyPoint, Misconception, Option, Question, Source

ROWS = (Source, KeyPoint, Misconception, FollowUp, Option)
ABOUT = {
    "id": "a-z, 0-9 and hyphens; never changed, because the review log refers to it; added if it is missing",
    "level": "easy, medium or hard; medium if it is not named",
    "kind": "how the question is asked and marked; recall if it is not named",
    "prompt": "Markdown, as an interviewer says it",
    "answer": "Markdown; fenced Python blocks must run",
    "exercise": "slug of the linked exercise; a deck of your own may do without",
    "say": "the spoken answer in one or two sentences",
    "sources": "papers and documents that a fact rests on",
    "tags": "free words",
    "tracks": "the roles that need the question",
    "scenario": "true if a symptom is given and a diagnosis is asked for",
    "requires": "ids of questions to learn first",
    "parent": "id of the recall question that this one drills",
    "siblings": "ids that are too close to be shown on the same day",
    "aliases": "former ids, or ids that this question absorbed",
    "misconceptions": "false statements as people make them, with their corrections",
    "follow_ups": "what an interviewer asks next",
    "key_points": "3 to 8 statements that a full answer makes; without them, the list in the answer",
    "values": "names and the values that each may take",
    "where": "a condition that the values must meet",
    "let": "further names and their formulas, computed in order",
    "formula": "the result, from the names under values and let",
    "unit": "the unit of the result; empty for a pure number",
    "tolerance": "relative such as 1%, or absolute as a number in the unit",
    "worked": "the calculation; {expression} is filled in, and {result} must appear",
    "options": "3 to 5 options, exactly one of them right",
    "steps": "3 to 8 steps in the right order",
    "text": "a text with gaps: [[answer|another accepted form]]",
}
_TEXT = {"type": ["string", "number"], "maxLength": MAX_TEXT}
_SPECIAL: dict[str, dict[str, Any]] = {
    "id": {"type": "string", "pattern": f"^{ID.pattern}$", "maxLength": MAX_ID},
    "level": {"enum": [level.value for level in Level]},
    "tracks": {"type": "array", "items": {"enum": list(TRACKS)}, "maxItems": MAX_ENTRIES},
    "tolerance": {"type": ["string", "number"], "pattern": r"^\s*[0-9.eE+-]+%?\s*$", "minimum": 0},
    "values": {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": {
            "type": "array",
            "items": {"type": ["string", "number"], "maxLength": MAX_TERM},
            "minItems": 1,
            "maxItems": MAX_CHOICES,
        },
    },
    "let": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
}


def question_schema() -> dict[str, Any]:
    """Return the schema of a question file, without the dialect and the title."""
    import msgspec

    _, rows = msgspec.json.schema_components(ROWS, ref_template="#/$defs/{name}")
    for row in rows.values():
        row["additionalProperties"] = "enum" in row
        _accept_numbers(row)
    keys = {spec.name: _key(spec.name, kind) for spec, kind in zip(fields(Question), _types(), strict=True)}
    definitions = rows | {str(kind): _kind(kind, keys) for kind in BY_KIND}
    return {
        "type": "object",
        "properties": {
            "topic": {
                "type": "string",
                "description": "slug of the topic; the name of the file if it is missing",
            },
            "name": {"type": "string", "description": "the topic's name as it is shown"},
            "about": {"type": "string", "description": "one sentence on the topic"},
            "questions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": list(NEEDED),
                    "properties": {"kind": {"enum": [kind.value for kind in BY_KIND]}},
                    # With oneOf, an editor could not tell which of the five alternatives was meant.
                    "allOf": [_if_kind(kind) for kind in BY_KIND],
                },
            },
        },
        "required": ["questions"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _types() -> list[Any]:
    return list(get_type_hints(Question).values())


def _accept_numbers(row: dict[str, Any]) -> None:
    # YAML reads an unquoted 16 as a number, and the loader accepts it as text.
    for value in row.get("properties", {}).values():
        if value.get("type") == "string":
            value["type"] = ["string", "number"]
        if value.get("type") == "array":
            value["maxItems"] = MAX_ENTRIES
            value["items"] = {"type": ["string", "number"], "maxLength": MAX_TERM}


def _key(name: str, kind: Any) -> dict[str, Any]:
    about = {"description": ABOUT.get(name, "")}
    if name in _SPECIAL:
        return about | _SPECIAL[name]
    if kind is bool:
        return about | {"type": "boolean"}
    if get_origin(kind) is tuple:
        entry = get_args(kind)[0]
        items = {"$ref": f"#/$defs/{entry.__name__}"} if entry in ROWS else _TEXT
        fewest, most = COUNTS.get(name, (0, MAX_ENTRIES))
        return about | {"type": "array", "items": items, "minItems": fewest, "maxItems": most}
    return about | _TEXT


def _kind(kind: QuestionKind, keys: dict[str, dict[str, Any]]) -> dict[str, Any]:
    required, optional = BY_KIND[kind]
    allowed = [*REQUIRED, *required, *optional, *(key for key in OPTIONAL if key not in required)]
    return {
        "properties": {key: keys[key] | ({"const": kind.value} if key == "kind" else {}) for key in allowed},
        "required": list(required_keys(kind, short=True)),
        "additionalProperties": False,
    }


def _if_kind(kind: QuestionKind) -> dict[str, Any]:
    # A card that names no kind is recall.
    named: dict[str, Any] = {} if kind == QuestionKind.RECALL else {"required": ["kind"]}
    return {
        "if": {"properties": {"kind": {"const": kind.value}}} | named,
        "then": {"$ref": f"#/$defs/{kind}"},
    }
