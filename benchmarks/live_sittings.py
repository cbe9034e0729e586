"""Sits live incidents by program with a real judge, and prints JSON: what anything but a repair earns.

``python -m benchmarks.live_sittings [--sittings N] [--share S] [--kind TEXT] [--only ID …]``. Adversaries
paste, deny, guess, and hand in a script that was changed in every way but the right one; each sits incidents
of all four baselines, false alarms among them. Honest sitters know the answer. Each sitting goes through the
acts and documents of the screen, and the judge runs the scripts. The whole takes some ten minutes of one
core; ``--share 0.2`` and ``--sittings 50`` take a part of it by chance. Returns 1 if a script that repairs
nothing earns marks for the fix, a guard that guards nothing earns its marks, pasted words without a choice
earn more than 10, or an honest sitter earns less than 90.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.incidents.loader import load_library
from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.blueprint import load_blueprint
from quizapp.judge.client.script_client import ScriptClient
from tests.interview.live_attacks import MAY_REPAIR
from tests.interview.live_sittings import (
    LiveJudge,
    LiveResult,
    LiveRoom,
    LiveSitter,
    adversaries,
    attackers,
    false_guards,
    honest,
)
from tests.interview.mock_kit import real_bank, study

EXPLAINED_ABOVE, MOST_FOR_WORDS, LEAST_FOR_RIGHT = 15, 10, 90
FIX = ("healthy band", "small fix", "guard")
CHEAP = ("huge-lr", "label-shift", "val-leak", "zero-init", "clipped-spike-false-alarm")
"""Incidents on the baseline whose runs take a second; every adversary sits them."""
DEAR = (
    *("gpt-scale-missing", "grpo-kl-sign", "ddp-bad-shard"),
    *("gpt-spike-false-alarm", "grpo-ratio-false-alarm", "ddp-rank-losses-false-alarm"),
)
"""Incidents on the other baselines; each attack on a script sits two of them in turn."""
Row = tuple[str, str, LiveResult]


def planned(options: argparse.Namespace, library: IncidentLibrary) -> list[tuple[str, str, str, LiveSitter]]:
    """Who sits what, as group, kind, incident and sitter."""
    only = options.only or [*CHEAP, *DEAR]
    rows = [
        ("words and guesses", kind, name, sitter) for kind, sitter in adversaries().items() for name in only
    ]
    for group, sitters in (("scripts", attackers()), ("false guards", false_guards())):
        for place, (kind, sitter) in enumerate(sitters.items()):
            dear = [DEAR[(place + shift) % len(DEAR)] for shift in (0, 3)]
            # In a healthy run nothing can be guarded.
            rows += [
                (group, kind, name, sitter)
                for name in options.only or [*CHEAP, *dear]
                if group == "scripts" or not library.incidents[name].false_alarm
            ]
    rows = [row for row in rows if options.kind in row[1]]
    random.Random(options.seed).shuffle(rows)
    count = round(options.share * len(rows))
    rows = rows[: min(count, options.sittings or count)]
    knowing = only if options.share == 1 and not options.sittings else only[:: len(only) // 2]
    for name in () if options.kind else knowing:
        rows += [("honest", kind, name, sitter) for kind, sitter in honest(library, name).items()]
    return rows


def main() -> int:
    """Print the result; 1 if somebody earned what they should not, or less than they should."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sittings", type=int, default=0, help="at most so many adversarial sittings")
    parser.add_argument("--share", type=float, default=1.0, help="this share of them")
    parser.add_argument("--kind", default="", help="only adversaries whose kind contains this text")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="only these incidents")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    library = load_library()
    groups: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["QUIZAPP_HOME"] = home
        with study(Path(home), real_bank()) as made, ScriptClient() as client:
            room = LiveRoom(made, library, load_blueprint(), LiveJudge(client))
            for group, kind, name, sitter in planned(options, library):
                result = room.sit(name, sitter, random.Random(f"{kind}:{name}:{options.seed}"))
                groups.setdefault(group, []).append((kind, name, result))
    report, failed = _report(groups)
    report |= {"runs_of_the_judge": room.judge.runs, "seconds": round(time.monotonic() - begin)}
    report["processor_seconds"] = round(sum(os.times()[:4]))
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return int(failed)


def _report(groups: Mapping[str, list[Row]]) -> tuple[dict, bool]:
    hostile = [
        row for group in ("words and guesses", "scripts", "false guards") for row in groups.get(group, [])
    ]
    # Whoever is only after the guard has really repaired the run.
    unrepaired = [*groups.get("words and guesses", []), *groups.get("scripts", [])]
    above = sorted((row for row in unrepaired if row[2].mark > EXPLAINED_ABOVE), key=lambda row: -row[2].mark)
    paid = [
        _told(row) for row in groups.get("scripts", []) if row[0] not in MAY_REPAIR and _paid_for_fix(row)
    ]
    guards = [_told(row) for row in groups.get("false guards", []) if row[2].points("guard")]
    words = [row[2].mark for row in unrepaired if row[0].endswith("nothing chosen")]
    right = [row[2].mark for row in groups.get("honest", [])]
    report = {
        "adversarial_sittings": len(hostile),
        "highest": max((row[2].mark for row in unrepaired), default=0),
        "highest_for_words_alone": max(words, default=0),
        "above_15": len(above),
        "fix_paid_for_no_repair": paid,
        "guard_paid_for_no_guard": guards,
        "honest_lowest": min(right, default=None),
        "by_kind": {group: list(_table(rows)) for group, rows in groups.items()},
        "each_above_15": [_told(row) for row in above],
        "honest": [_told(row) for row in groups.get("honest", []) if row[2].mark < LEAST_FOR_RIGHT],
    }
    failed = paid or max(words, default=0) > MOST_FOR_WORDS or min(right, default=100) < LEAST_FOR_RIGHT
    return report, bool(failed or any("by the source" not in row["kind"] for row in guards))


def _paid_for_fix(row: Row) -> bool:
    """Whether the fix earned marks although the script was changed, and not to the healthy one."""
    _, _, result = row
    return result.points(*FIX) > 0 and result.edited and not result.is_reference


def _table(rows: list[Row]) -> Iterator[dict]:
    kinds: dict[str, list[int]] = {}
    for kind, _, result in rows:
        kinds.setdefault(kind, []).append(result.mark)
    for kind, marks in kinds.items():
        yield {
            "kind": kind,
            "number": len(marks),
            "median": statistics.median(marks),
            "highest": max(marks),
            "lowest": min(marks),
            "above_15": sum(mark > EXPLAINED_ABOVE for mark in marks),
        }


def _told(row: Row) -> dict:
    kind, name, result = row
    terms = [f"{term} {points:.3g}: {how}" for term, (points, how) in result.terms.items() if points]
    return {"kind": kind, "incident": name, "mark": result.mark, "why": result.why, "terms": terms}


if __name__ == "__main__":
    sys.exit(main())
