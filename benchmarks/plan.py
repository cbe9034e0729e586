"""Measures the plan to a date on the shipped bank: its CPU time, and its gain over the usual policy.

For each horizon and number of minutes per day, the JSON has the value (weighted recall of questions and code
on the last day) of the chosen policy and of the usual one (20 new cards a day at 0.90). Both are simulated
with seeds that the search did not use, since the chosen policy looks better on the seeds that chose it.
"""

import argparse
import json
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from quizapp.bank.loader import load_bank
from quizapp.interview.blueprint import load_blueprint
from quizapp.interview.topic_weights import plan_weights
from quizapp.scheduling.planner.calendar import calendar
from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.load_deck import PATH, load_deck
from quizapp.scheduling.planner.plan import make_plan
from quizapp.scheduling.planner.simulate import Policy, simulate
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.store import Store

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TODAY = date(2026, 3, 2)
USUAL = Policy(0.9, 20, PATH)
FIRST_SEED = 50_000  # far from every seed that a plan uses


def measure(deck: PlanDeck, code_share: float, days: int, minutes: int, seeds: int) -> dict[str, Any]:
    """Make one plan and return its CPU time, its policy, and its gain over the usual one, paired by seed."""
    until = TODAY + timedelta(days=days)
    slots = calendar(TODAY, until, lambda _: minutes)
    start = time.process_time()
    plan = make_plan(deck, slots, until, USUAL, target=0.85, code_share=code_share)
    seconds = time.process_time() - start
    open_days = [slot.day for slot in slots]
    pairs = [
        tuple(
            simulate(deck, open_days, policy, FIRST_SEED + seed, code_share)
            for policy in (plan.policy, USUAL)
        )
        for seed in range(seeds)
    ]
    gains = [chosen.value - usual.value for chosen, usual in pairs]
    return {
        "days": days,
        "minutes": minutes,
        "cpu_seconds": round(seconds, 2),
        "policy": plan.policy._asdict(),
        "promised": round(plan.recall, 4),
        "interval": [round(plan.low, 4), round(plan.high, 4)],
        "chosen": round(mean(chosen.value for chosen, _ in pairs), 4),
        "usual": round(mean(usual.value for _, usual in pairs), 4),
        "gain": round(mean(gains), 4),
        "gain_standard_error": round(stdev(gains) / len(gains) ** 0.5, 4),
        "chosen_questions": round(mean(chosen.questions for chosen, _ in pairs), 4),
        "usual_questions": round(mean(usual.questions for _, usual in pairs), 4),
    }


def main() -> int:
    """Measure and print. Return 1 if a plan is worse than the usual policy by over two standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--role")
    options = parser.parse_args()
    bank = load_bank()
    with (
        tempfile.TemporaryDirectory() as folder,
        Study(bank, Store.open(Path(folder) / "quizapp.db"), clock=FixedClock(NOW)) as study,
    ):
        weights = plan_weights(bank, load_blueprint(), options.role, [], NOW)
        deck = load_deck(study, weights, options.role or "")
    rows = [
        measure(deck, weights.code_share, days, minutes, options.seeds)
        for days in (14, 28, 56)
        for minutes in (15, 45)
    ]
    print(json.dumps({"cards": len(deck.names), "role": options.role, "plans": rows}, indent=1))
    return int(any(row["gain"] < -2 * row["gain_standard_error"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
