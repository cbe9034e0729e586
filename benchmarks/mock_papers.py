"""Samples papers with many seeds and card states, checks every rule, and prints JSON."""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.interview.blueprint import LENGTHS
from quizapp.interview.paper.sample import sample_paper
from tests.interview import paper_rules
from tests.interview.mock_kit import ROLES, blueprint, knowledge, library_of, real_bank


def main() -> int:
    """Sample, check and print. Return 1 if a paper breaks a rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=10_000)
    options = parser.parse_args()
    bank = real_bank()
    library = library_of(bank)
    states = [knowledge(bank, number, share) for number, share in enumerate((0.0, 0.1, 0.3, 0.6, 0.9))]
    broken: Counter[str] = Counter()
    unmet: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    furthest, alarms = 0.0, 0
    start = time.perf_counter()
    for seed in range(options.seeds):
        cards = states[seed % len(states)]
        plan = blueprint().plan(ROLES[seed % 3], LENGTHS[seed // 3 % 4], code=seed % 7 > 1)
        paper = sample_paper(blueprint(), plan, bank, cards, seed, library)
        broken.update(paper_rules.broken(paper, blueprint(), bank, cards, library))
        unmet.update(paper_rules.unmet(paper, cards))
        unmet.update(paper_rules.unmet_incidents(paper, library))
        chosen = [library.incidents[pick.incident] for pick in paper.picks if pick.incident]
        alarms += any(incident.false_alarm for incident in chosen)
        drawn.update(incident.id for incident in chosen)
        furthest = max(furthest, paper_rules.shares(paper, bank))
    figures = {
        "papers": options.seeds,
        "rules_broken": dict(broken),
        "wishes_unmet": dict(unmet),
        "incidents_in_library": len(library.incidents),
        "incidents_drawn": len(drawn),
        "share_with_a_false_alarm": round(alarms / options.seeds, 4),
        "furthest_topic_from_its_share": round(furthest, 2),
        "ms_per_paper": round(1000 * (time.perf_counter() - start) / options.seeds, 2),
    }
    print(json.dumps(figures, indent=2))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
