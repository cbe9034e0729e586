"""The schema of a stored report, ``quizapp.mock/1`` or ``/2``, from `quizapp.interview.report.model`.

Three things cannot be read from the types and are added here. A question shares one JSON object with its
marking. The kind of a question decides the types of its ``question`` and ``marking``. Some limits hold only
once an interview is finished.
"""

from typing import Any

import msgspec

from quizapp.interview.blueprint import INCIDENT_ROLE, PHASE_OF, SLOTS
from quizapp.interview.marking.model import TYPE_BY_KIND, MachineMarking
from quizapp.interview.report.model import SCHEMA, Report
from quizapp.interview.rounds.material import DESIGN_PHASES
from quizapp.interview.rounds.round_table import ROUNDS
from quizapp.interview.scoring.calibration import CONFIDENCES
from quizapp.interview.session.question import ASKED_BY_KIND, LATER, QuestionState

Schema = dict[str, Any]

LENGTHS = sorted({minutes for kind in ROUNDS.values() for minutes in kind.lengths})
PHASES = [*dict.fromkeys(PHASE_OF.values()), "quiz", "napkin", *DESIGN_PHASES, "presentation", "probes"]
CODE_SLOTS = ["hypotheses", "debug", "review"]
PHASES += CODE_SLOTS
_MINIMUM: Schema = {"minimum": 0}
_HELD: Schema = {"enum": [0, 0.5, 1]}
_LIMITS: dict[str, dict[str, Schema]] = {
    "InterviewQuestion": {
        "slot": {"enum": [*SLOTS, "estimate", "design", "presentation", "probe", *CODE_SLOTS]},
        "phase": {"enum": PHASES},
        "kind": {"enum": list(ASKED_BY_KIND)},
        "state": {"enum": [state.value for state in QuestionState if state.closed]},
        "confidence": {"enum": [*CONFIDENCES, None]},
        "recall": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "planned": _MINIMUM | {"description": "seconds: the weight of the question"},
        "budget": _MINIMUM | {"description": "seconds for the answer itself"},
        **dict.fromkeys(("number", "used_ms", "hints"), _MINIMUM),
    },
    "FollowUpAnswer": {"state": {"enum": ["frozen", "cut", "lost", "unreached"]}, "used_ms": _MINIMUM},
    "PointMark": {"weight": {"enum": [1, 2, 3]}, "held": _HELD},
    "FollowUpMark": {"held": _HELD},
    "MachineMarking": {"right_parts": _MINIMUM, "parts": {"minimum": 1}},
    "CodingMarking": {"behaviours": {"minimum": 1}, "behaviours_passed": _MINIMUM},
    "DiagnosisMark": {"evidence": _HELD, "states": {"minimum": 1}},
}
_LATER = {"bought", *LATER}
"""Keys that the first reports did not have."""


def report_schema() -> Schema:
    """Return the schema of a finished report."""
    kinds = {*ASKED_BY_KIND.values(), *TYPE_BY_KIND.values(), MachineMarking}
    roots = [Report, *sorted(kinds, key=lambda kind: kind.__name__)]
    _, definitions = msgspec.json.schema_components(roots, ref_template="#/$defs/{name}")
    for name, limits in _LIMITS.items():
        properties = definitions[name]["properties"]
        for key, limit in limits.items():
            properties[key] = limit if "$ref" in properties[key] else properties[key] | limit
            if "enum" in limit:  # the enumeration is complete, including null where it is allowed
                properties[key].pop("anyOf", None)
    for definition in definitions.values():
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    definitions["MarkedQuestion"] = _question(
        definitions.pop("InterviewQuestion"), definitions["MarkedQuestion"]
    )
    report = definitions.pop("Report")
    single = {"properties": {"items": {"minItems": 1, "maxItems": 1, "items": _kind("incident")}}}
    return {
        "$id": SCHEMA,
        **report,
        "if": {"properties": {"role": {"const": INCIDENT_ROLE}}},
        "then": single,
        "else": {"properties": {"minutes": {"enum": LENGTHS}}},
        "$defs": definitions,
    }


def _question(asked: Schema, marked: Schema) -> Schema:
    """Merge the fields of the question into the object with its marking, marks and effect."""
    properties = asked["properties"] | {
        key: value for key, value in marked["properties"].items() if key != "asked"
    }
    forms = [
        {
            "if": _kind(kind),
            "then": {
                "properties": {
                    "question": _reference(ASKED_BY_KIND[kind]),
                    "marking": _reference(TYPE_BY_KIND.get(kind, MachineMarking)),
                }
            },
        }
        for kind in ASKED_BY_KIND
    ]
    return {
        "title": "MarkedQuestion",
        "description": marked["description"],
        "type": "object",
        "properties": properties | {"question": {"type": "object"}, "marking": {"type": "object"}},
        "required": [key for key in properties if key not in _LATER],
        "additionalProperties": False,
        "allOf": forms,
    }


def _kind(kind: str) -> Schema:
    return {"properties": {"kind": {"const": str(kind)}}}


def _reference(kind: type) -> Schema:
    return {"$ref": f"#/$defs/{kind.__name__}"}
