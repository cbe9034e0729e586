"""Reports with little in them, completed to what a stored report has."""

from quizapp.interview.report.model import Report, load_report

QUESTION = {
    "number": 0, "slot": "medium", "phase": "concept", "card": "card", "exercise": "", "topic": "t",
    "level": "medium", "kind": "recall", "planned": 60, "budget": 60, "seed": 1, "recall": None,
    "unseen": True, "probes": [], "state": "frozen", "used_ms": 0, "opened_ms": 0, "first_key_ms": None,
    "frozen_ms": 0, "typed": "", "given": None, "code": "", "confidence": None, "hints": 0, "warned": 0,
    "submissions": [], "checks": [], "bought": [], "effect": None,
    "question": {"content_hash": "", "prompt": "Why?", "answer": "Because.", "say": "", "key_points": [],
                 "misconceptions": [], "follow_ups": []},
    "marking": {"by": "self", "empty": False, "points": [], "misconceptions": [], "beats": [], "probes": [],
                "right_parts": 0, "parts": 1, "note": ""},
    "marks": {"total": 0, "reached": True, "terms": []},
}  # fmt: skip
REPORT = {
    "schema": "quizapp.mock/1", "id": "0", "seed": 1, "role": "research-engineer", "title": "T",
    "minutes": 30, "code": False, "pass_mark": 70, "blueprint": "", "content_hash": "", "app": "0",
    "torch": "", "device": "cpu", "beats": {}, "started": "2026-03-02T19:00:00+00:00",
    "finished": "2026-03-02T19:30:00+00:00", "clock": {"elapsed_ms": 0, "events": []}, "phases": [],
    "items": [], "dimensions": {}, "band": {"name": "below", "why": "so"},
    "interval": {"low": 0, "high": 0, "draws": 1, "seed": 1}, "reviews": [], "remarks": [], "tomorrow": [],
    "totals": {"raw": 0, "adjusted": 0, "reached": 0, "items": 0, "items_reached": 0}, "inflation": {},
    "calibration": {"items": 0, "brier": None, "bias": None, "topics": {},
                    "bins": [{"confidence": c, "items": 0, "mean_mark": None} for c in range(0, 101, 25)]},
    "comparison": {"last": [], "difference": None},
    "pooled": {"total": 0, "mocks_in_30_days": 1, "provisional": True}, "weak_topics": [], "next_steps": [],
}  # fmt: skip


def merged(base: dict, change: dict) -> dict:
    """The base with a change; where both hold a mapping, the two are merged."""
    both = {key: merged(base[key], change[key]) for key in base.keys() & change.keys()
            if isinstance(base[key], dict) and base[key] and isinstance(change[key], dict)}  # fmt: skip
    return base | change | both


def complete(**document) -> dict:
    """A stored report that has what is given, and something plain elsewhere."""
    items = [merged(QUESTION, item) for item in document.pop("items", [])]
    return merged(REPORT, document) | {"items": items}


def report_with(**document) -> Report:
    """The same, typed."""
    return load_report(complete(**document))
