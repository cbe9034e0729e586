"""Samples papers of every round and role with many seeds and card states, checks every rule, and prints JSON.

Without arguments it takes 10,000 seeds for each round and role, and for the rounds of each role's loop.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.interview.paper.code_rounds import CODE_ROUNDS, CodeStock, sample_code_paper
from quizapp.interview.paper.model import Paper
from quizapp.interview.paper.open_rounds import OPEN_ROUNDS, sample_open_paper
from quizapp.interview.paper.sample import sample_paper
from quizapp.interview.rounds.loop import LOOP, minutes_of
from quizapp.interview.rounds.read_material import load_material
from quizapp.interview.rounds.round_table import ROUNDS, find_round
from tests.interview import paper_rules
from tests.interview.mock_kit import ROLES, blueprint, knowledge, library_of, real_bank


def main() -> int:
    """Sample, check and print. Return 1 if a paper breaks a rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=10_000, help="for each round and role")
    parser.add_argument("--round", action="append", choices=[*ROUNDS, LOOP], help="only these rounds")
    parser.add_argument("--role", action="append", choices=ROLES, help="only these roles")
    options = parser.parse_args()
    sums = [
        row
        for round_name in options.round or [*ROUNDS, LOOP]
        for role in options.role or ROLES
        for row in _rows(round_name, role, options.seeds)
    ]
    broken: Counter[str] = Counter()
    for row in sums:
        broken.update(row["rules_broken"])
    print(json.dumps({"rules_broken": dict(broken), "rounds": sums}, indent=2))
    return int(bool(broken))


def _rows(round_name: str, role: str, seeds: int) -> list[dict]:
    """The figures of one round, or of each round of the role's loop at the length it has there."""
    if round_name != LOOP:
        return [_check(round_name, role, seeds, ROUNDS[round_name].lengths)]
    rounds = [find_round(name) for name in blueprint().roles[role].rounds]
    return [{**_check(each.name, role, seeds, [minutes_of(each)]), "loop": True} for each in rounds]


def _check(round_name: str, role: str, seeds: int, lengths: Sequence[int]) -> dict:
    """Figures over the papers of one round and role: broken rules, and how the time is spent."""
    bank = real_bank()
    library, material = library_of(bank), load_material()
    states = [knowledge(bank, number, share) for number, share in enumerate((0.0, 0.1, 0.3, 0.6, 0.9))]
    broken: Counter[str] = Counter()
    unmet: Counter[str] = Counter()
    questions = seconds = alarms = reserve = whole = 0
    start = time.perf_counter()
    for seed in range(seeds):
        cards = states[seed % len(states)]
        minutes = lengths[seed // len(states) % len(lengths)]
        plan = blueprint().plan(role, minutes, round_name=round_name, code=seed % 7 > 1)
        if round_name in OPEN_ROUNDS:
            paper = sample_open_paper(plan, material, {}, seed)
        elif round_name in CODE_ROUNDS:
            paper = sample_code_paper(CodeStock(plan, bank, cards, seed, library))
        else:
            paper = sample_paper(plan, bank, cards, seed, library)
            unmet.update(paper_rules.unmet(paper, cards))
            unmet.update(paper_rules.unmet_incidents(paper, library))
        broken.update(paper_rules.broken(paper, blueprint(), bank, cards, library))
        alarms += any(library.incidents[pick.incident].false_alarm for pick in paper.picks if pick.incident)
        number, spent = _question_time(paper)
        questions, seconds = questions + number, seconds + spent
        reserve += dict(paper.seconds).get("reserve", 0)
        whole += 60 * minutes
    return {
        "round": round_name,
        "role": role,
        "papers": seeds,
        "rules_broken": dict(broken),
        "wishes_unmet": dict(unmet),
        "seconds_per_question": round(seconds / max(1, questions), 1),
        "share_of_reserve": round(reserve / max(1, whole), 3),
        "share_with_a_false_alarm": round(alarms / seeds, 4),
        "ms_per_paper": round(1000 * (time.perf_counter() - start) / seeds, 2),
    }


def _question_time(paper: Paper) -> tuple[int, int]:
    asked = [pick for pick in paper.picks if pick.slot not in ("coding", "scenario")]
    return len(asked), sum(pick.budget for pick in asked)


if __name__ == "__main__":
    sys.exit(main())
