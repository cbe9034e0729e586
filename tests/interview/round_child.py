"""The child of the kill test of rounds: sits and marks a round until it is killed.

Each line of standard output acknowledges what must now be on the disk, with the id of the interview first:
"looped ID LOOP ROUNDS" as a round of a loop of which so many are recorded, "words ID SECONDS ITEM LENGTH"
once a text is in the session, "closed ID ITEM", "submitted ID ITEM COUNT", "judged ID ITEM",
"marked ID ITEM POINT HELD" and "recorded ID".
"""

import random
import sys
import time
from pathlib import Path

from quizapp.interview import archive
from quizapp.interview.code_review.model import Decision, JudgedReview, ProofOutcome, ReviewAnswer
from quizapp.interview.marking.model import WordsMarking
from quizapp.interview.rounds.loop import LOOP, current_loop, minutes_of
from quizapp.interview.rounds.round_table import find_round
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.interview.mock_kit import blueprint, library_of, real_bank, small_bank
from tests.interview.test_code import FAILED

ROLE = "research-engineer"
WORDS = 50
"""After so many words a question is answered, so that every part of a round is reached."""


def main(folder: Path, round_name: str) -> None:
    """Go on with what the last child left, or begin."""
    rng = random.Random()
    with Store.open(folder / "quizapp.db") as store:
        # Only the whole bank has enough exercises for every round of a loop.
        bank = real_bank() if round_name == LOOP else small_bank()
        study = Study(bank, store, Settings())
        known = archive.running(study)
        interview = begin(study, round_name) if known is None else Interview.resume(study, known.document)
        say("begun", interview.id)
        while not interview.session.ended:
            step(interview, rng)
            interview.tick()
            time.sleep(0.01)
        mark(interview)
        time.sleep(60)  # until it is killed


def begin(study: Study, round_name: str) -> Interview:
    """Begin the round, or the next one of a loop."""
    loop = current_loop(study, blueprint().role(ROLE)) if round_name == LOOP else None
    kind = loop.next_round if loop is not None else find_round(round_name)
    assert kind is not None
    minutes = kind.default_minutes if loop is None else minutes_of(kind)
    interview = Interview.begin(
        study, ROLE, minutes, library=library_of(study.bank), round_name=kind.name, loop=loop
    )
    interview.start()
    if loop is not None:
        say("looped", interview.id, loop.id, str(len(loop.reports)))
    return interview


def step(interview: Interview, rng: random.Random) -> None:
    """Type a word, or do what comes after some words."""
    session = interview.session
    item = session.item
    if item is None:
        session.proceed()
    elif item.state == "confidence":
        session.confide(75)
    elif item.open_follow_up is not None:
        session.submit()
    elif len(item.typed.split()) < WORDS:
        text = f"{item.typed} word{rng.randrange(1000)}".strip()
        if item.kind == "review":
            session.answer_review(ReviewAnswer(decision=Decision.FAULTY, confidence=75, words=text))
        else:
            session.type(text)
        if item.kind not in ("recall", "review", "incident", "coding", "estimate"):
            close(interview, item.number)
            return
        say("words", interview.id, f"{time.time():.3f}", str(item.number), str(len(text)))
    elif item.kind == "coding" and len(item.submissions) < 2:
        interview.submitted(item.number, "x", FAILED, session.elapsed_ms)
        say("submitted", interview.id, str(item.number), str(len(item.submissions)))
    else:
        close(interview, item.number)


def close(interview: Interview, number: int) -> None:
    """Answer as a screen does: on disk first."""
    interview.session.submit()
    interview.session.confide(75)
    interview.save()
    say("closed", interview.id, str(number))


def mark(interview: Interview) -> None:
    """Have the reviews judged, decide every point, and store the marks."""
    interview.propose()
    for item in interview.unjudged():
        interview.judged(item.number, JudgedReview(ProofOutcome(text="none")))
        say("judged", interview.id, str(item.number))
    for number, marking in enumerate(interview.markings):
        if isinstance(marking, WordsMarking):
            for place, _ in enumerate(marking.points):
                marking.tick(place, "", ticked=place % 2 == 0)
                interview.save()
                held = marking.points[place].held
                say("marked", interview.id, str(number), str(place), str(held))
    interview.record()
    say("recorded", interview.id)


def say(*parts: str) -> None:
    """Acknowledge, at once."""
    sys.stdout.write(" ".join(parts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
