"""Calls the server for assistants in random orders and counts leaks, marks without a quote, and log entries.

``python benchmarks/tutor.py [--orders 10000] [--length 15] [--seed 1]`` prints JSON. It uses the whole bank,
every exercise, and a database of its own. Exit code 1 if anything leaked or the log differs from the calls.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.bank.loader import load_bank
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.exchange.tutor_orders import all_secrets, logged, random_orders
from tests.scheduling.study_kit import MORNING

_ORDERS_PER_SERVER = 100


def main() -> int:
    """Run the orders and print what they showed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=15, help="calls of an order")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.ERROR)  # the SDK logs each refusal
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["QUIZAPP_HOME"] = folder
        bank = load_bank()
        secrets = all_secrets(bank, tuple(bank.exercises))
        clock = FixedClock(MORNING)
        with Study(bank, Store.open(Path(folder) / "quizapp.db"), Settings(), clock) as study:
            found = asyncio.run(
                random_orders(
                    study,
                    secrets,
                    random.Random(options.seed),
                    servers=max(1, options.orders // _ORDERS_PER_SERVER),
                    orders=min(options.orders, _ORDERS_PER_SERVER),
                    length=options.length,
                )
            )
            is_log_equal = logged(study) == found.rated
    result = {
        "orders": found.orders,
        "calls": dict(found.calls),
        "refused": dict(found.refused),
        "leaks": len(found.leaks),
        "examples_of_leaks": sorted(set(found.leaks))[:20],
        "marks": found.marks,
        "marks_without_quote": found.marks_without_quote,
        "rated": len(found.rated),
        "log_equals_calls": is_log_equal,
        "seconds": round(time.perf_counter() - start, 1),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
    return int(bool(found.leaks) or bool(found.marks_without_quote) or not is_log_equal)


if __name__ == "__main__":
    sys.exit(main())
