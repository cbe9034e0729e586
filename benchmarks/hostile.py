"""Grades the hostile submissions on each tier and counts false passes and harm, by kind.

``python benchmarks/hostile.py [--tiers T3,T2,T1] [--controls 200] [--kinds endless,...]`` prints JSON. It
also reports how many seconds time-outs came after their limit, and with ``--controls`` the false failures of
right code under load. Run it from the root of the project.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.judge.field import SECRET, Field, control_characters, texts
from tests.judge.hostile import ALL
from tests.judge.test_controls import CONTROLS

UNGUARDED = {"changes_exercise", "removes_exercise"}  # below T2, a submission may write wherever the user may


def hostile(field: Field, kinds: set[str]) -> dict[str, object]:
    """Return counts and harm by kind, and the seconds by which time-outs exceeded their limit."""
    table = {}
    beyond: list[float] = []
    sentences = {}
    by_kind = defaultdict(list)
    for item in ALL:
        if item.kind in kinds and not (field.tier in ("T0", "T1") and item.name in UNGUARDED):
            by_kind[item.kind].append(item)
    for kind, items in by_kind.items():
        judge = field.client.pid
        connections = len(field.connections)
        verdicts = field.grade_all([(h.name, field.fill(h.source), h.seconds) for h in items], jobs=2)
        shown = [text for verdict in verdicts.values() for text in texts(verdict)]
        table[kind] = {
            "count": len(items),
            "false_passes": sum(verdict.passed for verdict in verdicts.values()),
            "left_running": len(field.left_running()),
            "files_changed": len(field.changed()),
            "secrets_told": sum(SECRET in text or "root:x:" in text for text in shown),
            "connections": len(field.connections) - connections,
            "control_characters": sum(len(control_characters(v)) for v in verdicts.values()),
            "judge_died": field.client.pid != judge,
        }
        for item in items:
            verdict = verdicts[item.name]
            if verdict.status in ("timeout", "memory"):
                sentences[f"{kind}/{item.name}"] = verdict.error
            if verdict.status == "timeout":
                beyond.append(verdict.seconds - (item.seconds or field.exercise.timeout))
        field.restore()
        field.before = field._state()
    spread = {"median": round(statistics.median(beyond), 3), "max": round(max(beyond), 3)} if beyond else {}
    return {"kinds": table, "seconds_beyond_limit": spread, "sentences": sentences}


def controls(field: Field, runs: int) -> dict[str, int]:
    """Count false failures of right code. Each submission is graded ``runs`` times, four at once."""
    orders = [(f"{name} {n}", code.encode(), 60.0) for name, code in CONTROLS.items() for n in range(runs)]
    verdicts = field.grade_all(orders, jobs=4)
    bad = {name: str(v.error) for name, v in verdicts.items() if not v.passed}
    return {"runs": len(orders), "false_failures": len(bad)}


def main() -> None:
    """Print the table as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiers", default="T3,T2,T1")
    parser.add_argument("--controls", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(sorted({item.kind for item in ALL})))
    options = parser.parse_args()
    tables: dict[str, object] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ["QUIZAPP_HOME"] = home
        for tier in options.tiers.split(","):
            place = Path(home) / f"field-{tier}"
            place.mkdir()
            field = Field(tier, place)
            try:
                tables[tier] = {
                    "hostile": hostile(field, set(options.kinds.split(","))),
                    "controls": controls(field, options.controls),
                }
            finally:
                field.close()
    print(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
