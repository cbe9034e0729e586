"""Kills a drill with SIGKILL at random moments. No acknowledged answer may be lost, every database must open.

A child process drills and prints the id of each answer once ``answer`` has returned. The parent kills it
after a random wait, opens the database, and looks for every acknowledged answer. The result is printed as
JSON. ``--child PATH`` runs the child.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quizapp.bank.model import Bank, Question, Topic
from quizapp.errors import QuizError
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store

SETTINGS = Settings(new_per_day=9999, reviews_per_day=9999)


def bank() -> Bank:
    """Return a bank of two hundred small questions."""
    names = [f"question-{number}" for number in range(200)]
    questions = {
        name: Question(name, "topic", "easy", "recall", "p", "a", "lora", content_hash="0") for name in names
    }
    return Bank(questions, {"topic": Topic("topic", "Topic", "")}, {})


def child(path: Path) -> None:
    """Drill until killed, with an undo and a flag now and then."""
    rng = random.Random()
    questions = bank()
    names = list(questions.questions)
    with Store.open(path, backups=path.parent / "backups") as store:
        study = Study(questions, store, SETTINGS)
        while True:
            card = study.next_card()
            name = card.id if card else rng.choice(names)
            answered = study.answer(name, rng.randint(1, 4), seconds=rng.random())
            sys.stdout.write(answered.event + "\n")
            sys.stdout.flush()
            if rng.random() < 0.05:
                study.undo()
            if rng.random() < 0.05:
                study.flag(name)


def kill_once(path: Path, wait: float, drilling: bool) -> list[str]:
    """Start the child, kill it, and return the ids of the answers that it acknowledged.

    The kill comes ``wait`` seconds after the start, or with ``drilling`` after the first answer.
    """
    command = [sys.executable, __file__, "--child", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline() if drilling else b""
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        output = (first + process.stdout.read()).decode()
    return output.split("\n")[:-1]  # a line without its end was not acknowledged


def run(kills: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill the child ``kills`` times on one database, and check the database after each kill."""
    rng = random.Random(seed)
    path = folder / "quizapp.db"
    acknowledged: set[str] = set()
    failed = differing = 0
    for _ in range(kills):
        # One child in five is killed while it starts: opening, migrating, backing up.
        drilling = rng.random() < 0.8
        acknowledged.update(kill_once(path, rng.uniform(0, 0.3), drilling))
        try:
            with Store.open(path) as store:
                Study(bank(), store, SETTINGS)
                store.db.check()
        except QuizError as error:
            print(error, file=sys.stderr)
            failed += 1
    with Store.open(path) as store:
        Study(bank(), store, SETTINGS)
        kept = {event.id for event in store.log.all()}
        # The tables are derived from the log, so replaying it must give the same tables.
        live = store.tables.snapshot()
        store.rebuild()
        differing += store.tables.snapshot() != live
    return {
        "kills": kills,
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged - kept),
        "failed_opens": failed,
        "events_in_log": len(kept),
        "rebuilt_differs": differing,
    }


def main() -> int:
    """Measure and print. Return 1 if an answer was lost or a database was damaged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
    with tempfile.TemporaryDirectory() as name:
        figures = run(options.kills, options.seed, Path(name))
    print(json.dumps(figures, indent=2))
    return int(bool(figures["lost"] or figures["failed_opens"] or figures["rebuilt_differs"]))


if __name__ == "__main__":
    sys.exit(main())
