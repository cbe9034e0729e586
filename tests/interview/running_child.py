"""The child of the kill test: sits an interview at speed on the real clock, and says what it typed when.

Each line of standard output is "words SECONDS ITEM LENGTH" once the text is in the session, "bought READING"
once a reading may be shown, or "resumed STATE".
"""

import sys
import time
from pathlib import Path

from quizapp.interview import archive
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.interview.mock_kit import incidents, small_bank


def main(folder: Path, scenario: bool) -> None:
    with Store.open(folder / "quizapp.db") as store:
        study = Study(small_bank(), store, Settings())
        known = archive.running(study)
        if known is None:
            library = incidents()
            interview = Interview.begin(study, "research-engineer", 60, seed=1, code=False, library=library)
            interview.start()
            if scenario:
                go_to_incident(interview)
        else:
            interview = Interview.resume(study, known.document)
            say("resumed", interview.session.state.state)
        count = 0
        while not interview.session.ended:
            count += 1
            item = interview.session.item
            if item is not None and item.kind == "incident" and count % 5 == 0:
                buy(interview)
            if item is None:
                interview.session.proceed()
            if item is not None and item.state == "open":
                text = f"{item.typed} word{count}".strip()
                interview.session.type(text)
                say("words", f"{time.time():.3f}", str(item.number), str(len(text)))
            interview.tick()
            time.sleep(0.02)


def go_to_incident(interview: Interview) -> None:
    session = interview.session
    session.proceed()
    while session.item.kind != "incident":
        session.submit()
        session.confide(50)
        while session.item.open_follow_up is not None:
            session.submit()


def buy(interview: Interview) -> None:
    """Buy the next reading as the screen does: on disk first, then shown."""
    session = interview.session
    for reading in session.item.asked.readings:
        if session.can_buy(reading.id):
            session.buy(reading.id, reading.outcomes[0])
            interview.save()
            say("bought", reading.id)
            return


def say(*parts: str) -> None:
    sys.stdout.write(" ".join(parts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["scenario"])
