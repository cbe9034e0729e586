"""The child of the kill test: sits an interview at speed on the real clock, and says what it typed when.

Each line of standard output is "words SECONDS TEXT" once the text is in the session, or "resumed".
"""

import sys
import time
from pathlib import Path

from mock_kit import small_bank

from quizapp.interview import past
from quizapp.interview.interview import Interview
from quizapp.memory.settings import Settings
from quizapp.memory.study import Study
from quizapp.store import Store


def main(folder: Path) -> None:
    with Store.open(folder / "quizapp.db") as store:
        study = Study(small_bank(), store, Settings())
        known = past.running(study)
        if known is None:
            interview = Interview.begin(study, "research-engineer", 60, seed=1, code=False)
            interview.start()
        else:
            interview = Interview.resume(study, known.document)
            say("resumed", interview.session.state)
        count = 0
        while not interview.session.ended:
            count += 1
            item = interview.session.item
            if item is None:
                interview.session.proceed()
            if item is not None and item.state == "open":
                text = f"{item.typed} word{count}".strip()
                interview.session.type(text)
                say("words", f"{time.time():.3f}", str(item.number), str(len(text)))
            interview.tick()
            time.sleep(0.02)


def say(*parts: str) -> None:
    sys.stdout.write(" ".join(parts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
