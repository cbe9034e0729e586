"""Sits every incident in the read-only form by program, and prints JSON: what pasting and knowing earn.

``python benchmarks/incident_answers.py [--all] [--only ID]``. Every proposal of the program is accepted, as
by a learner who wants marks. Sitters paste soup, denials, the prompt, what is offered, another incident's
answer, or one answer everywhere, buy everything, name no fault, or choose by chance; two type the answer and
the key points of the incident with the right choices. Each incident is sat by itself and in an interview,
with each kind of words and each kind of choices, and with ``--all`` with each pair of both. Returns 1 if
words without a choice earn more than 10, or a right answer less than 90.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.incidents.loader import load_library
from quizapp.interview.blueprint import load_blueprint
from tests.interview.incident_sittings import (
    ALONE,
    CHOSEN,
    HONEST,
    IN_INTERVIEW,
    PASTED,
    Result,
    Sitter,
    ask,
    combined,
    nothing,
    sit,
)

EXPLAINED_ABOVE, MOST_FOR_WORDS, LEAST_FOR_RIGHT = 15, 10, 90
MODES = {"by itself": ALONE, "in an interview": IN_INTERVIEW}
WITHOUT_CHOICE = next(iter(CHOSEN))
TRIED_WITH_ALL = ("denial: It is not true that …", "another incident's answer", "the same answer to all")


def sitters(*, every_pair: bool) -> dict[str, Sitter]:
    """The sitters who have not thought about the run, by their names."""
    rows = {
        f"{name}; {WITHOUT_CHOICE}": combined(words, CHOSEN[WITHOUT_CHOICE]) for name, words in PASTED.items()
    }
    for choice, choices in CHOSEN.items():
        if choice == WITHOUT_CHOICE:
            continue
        rows[f"no words; {choice}"] = combined(nothing, choices)
        for name in PASTED if every_pair else TRIED_WITH_ALL:
            rows[f"{name}; {choice}"] = combined(PASTED[name], choices)
    return rows


def main() -> int:
    """Print the result; 1 if pasted words earn too much or a right answer too little."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every kind of words with every kind of choices")
    parser.add_argument("--only", default="", help="only this incident")
    options = parser.parse_args()
    begin = time.monotonic()
    library, blueprint = load_library(), load_blueprint()
    names = sorted(library.incidents)

    def results(name: str, sitter: Sitter) -> Iterator[tuple[str, str, Result]]:
        for mode, rules in MODES.items():
            for place, incident in enumerate(names):
                if options.only not in ("", incident):
                    continue
                item = ask(library, incident, rules)
                other = ask(library, names[(place + 7) % len(names)], rules).incident
                chance = random.Random(f"{name}:{incident}")
                yield mode, incident, sit(item, sitter(item.incident, other, chance), blueprint)

    table, above, words_marks, sittings = [], [], [0], 0
    for name, sitter in sitters(every_pair=options.all).items():
        rows = list(results(name, sitter))
        sittings += len(rows)
        table += [_row(name, mode, [row for row in rows if row[0] == mode]) for mode in MODES]
        above += [_told(name, *row) for row in rows if row[2].mark > EXPLAINED_ABOVE]
        if name.endswith(WITHOUT_CHOICE):
            words_marks += [result.mark for _, _, result in rows]
    right = {name: list(results(name, sitter)) for name, sitter in HONEST.items()}
    lowest = min(row[2].mark for rows in right.values() for row in rows)
    report = {
        "adversarial_sittings": sittings,
        "highest": max(row["highest"] for row in table),
        "highest_for_words_alone": max(words_marks),
        "above_15": len(above),
        "by_sitter": table,
        "right": [
            _row(name, mode, [row for row in rows if row[0] == mode])
            for name, rows in right.items()
            for mode in MODES
        ],
        "right_lowest": [
            _told(name, *row)
            for name, rows in right.items()
            for row in sorted(rows, key=lambda row: row[2].mark)[:5]
        ],
        "each_above_15": sorted(above, key=lambda row: -row["mark"]),
        "seconds": round(time.monotonic() - begin),
    }
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return int(max(words_marks) > MOST_FOR_WORDS or lowest < LEAST_FOR_RIGHT)


def _row(name: str, mode: str, rows: list[tuple[str, str, Result]]) -> dict:
    marks = [result.mark for _, _, result in rows]
    return {
        "sitter": name,
        "mode": mode,
        "highest": max(marks),
        "mean": round(statistics.mean(marks), 1),
        "lowest": min(marks),
        "above_15": sum(mark > EXPLAINED_ABOVE for mark in marks),
    }


def _told(name: str, mode: str, incident: str, result: Result) -> dict:
    terms = [
        f"{t.name} {float(t.points):.3g} of {float(t.weight):g}: {t.how}" for t in result.terms if t.points
    ]
    return {"sitter": name, "mode": mode, "incident": incident, "mark": result.mark, "terms": terms}


if __name__ == "__main__":
    sys.exit(main())
