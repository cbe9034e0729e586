"""Kills a mock interview with SIGKILL at random moments; counts lost typing, reviews and failed resumes.

A child process sits an interview on the real clock and prints each word once it is in the session. The parent
kills it after a random wait and reads the stored interview. The next child resumes it. The result is printed
as JSON.

With ``--live`` the child is the app itself in a live incident, with a real judge, and it is killed in turn
while a dialog is open, while the script is typed, while a run goes on, and while the judge measures.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quizapp.interview.rounds.loop import LOOP
from quizapp.interview.rounds.round_table import ROUNDS
from tests.interview.killing import kill_once, kill_round
from tests.interview.killing_live import SLACK_MS, kill_live

LIVE_MOMENTS = ("dialog", "typing", "running", "measuring", "measuring", "measuring")
"""The moments of one live sitting at which it is killed; the later ones find its marks."""
WAIT_S, LOOP_WAIT_S = 2.0, 6.0
"""The longest time until a round is killed; a loop gets more, so that it reaches several of its rounds."""


def main() -> int:
    """Measure and print. Return 1 if more than two seconds of typing, a reading or an interview was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", choices=[*ROUNDS, LOOP], help="kill this round, and its marking too")
    parser.add_argument("--live", action="store_true", help="kill the app in a live incident")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    if options.live:
        return _kill_live(options.kills, rng)
    if options.round:
        return _kill_round(options.round, options.kills, rng)
    lost, failed, shown, gone = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.kills):
            scenario = number % 3 == 2
            # Every fifty kills start a fresh interview, and so does every kill in the middle of readings.
            folder = Path(name) / (f"scenario-{number}" if scenario else str(number // 50))
            folder.mkdir(exist_ok=True)
            killed = kill_once(folder, rng.uniform(0.0, 1.5), scenario=scenario)
            lost.append(killed.lost)
            failed += not killed.readable
            shown += killed.readings
            gone += killed.readings_lost
    figures = {
        "kills": options.kills,
        "most_typing_lost_s": round(max(lost), 3),
        "mean_typing_lost_s": round(sum(lost) / len(lost), 3),
        "over_two_seconds": sum(seconds > 2 for seconds in lost),
        "readings_shown": shown,
        "readings_lost": gone,
        "failed_resumes_or_invented_reviews": failed,
    }
    print(json.dumps(figures, indent=2))
    return int(bool(figures["over_two_seconds"] or failed or gone))


def _kill_round(name: str, kills: int, rng: random.Random) -> int:
    """Kill a round at random moments; each child goes on with what the last one left."""
    lost, missing, acknowledged, finished = [], [], 0, 0
    with tempfile.TemporaryDirectory() as place:
        for _ in range(kills):
            # A loop goes on with its next round.
            folder = Path(place) / (LOOP if name == LOOP else str(finished))
            folder.mkdir(exist_ok=True)
            killed = kill_round(folder, name, rng.uniform(0.0, LOOP_WAIT_S if name == LOOP else WAIT_S))
            lost.append(killed.lost)
            acknowledged += killed.acknowledged
            missing += killed.missing
            finished += killed.over
    figures = {
        "round": name,
        "kills": kills,
        "rounds_recorded": finished,
        "most_typing_lost_s": round(max(lost), 3),
        "acknowledged": acknowledged,
        "lost": missing,
    }
    print(json.dumps(figures, indent=2))
    return int(bool(missing) or max(lost) > 2)


def _kill_live(kills: int, rng: random.Random) -> int:
    """Kill live sittings, each at several moments; the app that is started next goes on with what is left."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(kills):
            sitting, moment = divmod(number, len(LIVE_MOMENTS))
            folder = Path(place) / str(sitting)
            folder.mkdir(exist_ok=True)
            rows.append(kill_live(folder, LIVE_MOMENTS[moment], rng.uniform(0.0, WAIT_S)))
    figures = {
        "kills": kills,
        "acknowledged": sum(row.acknowledged for row in rows),
        "lost": [line for row in rows for line in row.missing],
        "most_typing_lost_s": round(max(row.lost for row in rows), 3),
        "most_clock_lacking_ms": max(row.clock_ms for row in rows),
        "left_behind": [name for row in rows for name in row.left],
    }
    print(json.dumps(figures, indent=2))
    late = figures["most_clock_lacking_ms"] > SLACK_MS or figures["most_typing_lost_s"] > 1
    return int(bool(figures["lost"] or figures["left_behind"] or late))


if __name__ == "__main__":
    sys.exit(main())
