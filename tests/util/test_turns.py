"""Turns that threads take together or alone."""

import threading

from quizapp.util.turns import Turns

SECONDS = 60.0


def test_common_turns_overlap() -> None:
    turns, both = Turns(), threading.Barrier(2)

    def common() -> None:
        with turns.together():
            both.wait(SECONDS)

    threads = [threading.Thread(target=common) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not both.broken


def test_a_turn_alone_overlaps_with_no_other() -> None:
    turns, active, seen = Turns(), [], []

    def take(name: str) -> None:
        with turns.alone() if name == "alone" else turns.together():
            active.append(name)
            seen.append(tuple(active))
            active.remove(name)

    threads = [threading.Thread(target=take, args=(name,)) for name in ("alone", "common") * 20]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(seen) == 40
    assert all(others == ("alone",) for others in seen if "alone" in others)
