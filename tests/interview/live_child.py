"""The child of the kill test of live incidents: the real app without a terminal, with a real judge.

``python -m tests.interview.live_child FOLDER MOMENT`` goes on with the sitting in ``FOLDER``, or begins one,
comes to the moment, and stays there until it is killed. Each line of standard output says what has happened:
"began SECONDS", "dialog" (whether to commit, or which command to run), "committed", "typed SECONDS LENGTH"
(the text is in the editor), "running COUNT" (paid for), "line COUNT" (its log arrives), "ended COUNT",
"handed" (the answer is frozen), "measured", and "marked TICKS" (a key point is decided).
"""

import asyncio
import random
import sys
import time
from pathlib import Path

from textual.pilot import Pilot

from quizapp.incidents.live.live_work import LiveMode
from quizapp.incidents.loader import load_library
from quizapp.interview import archive
from quizapp.interview.marking.model import IncidentMarking
from quizapp.interview.service import Interview
from quizapp.interview.session.question import InterviewQuestion
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.incidents.command_dialog import CommandDialog
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from tests.interview.mock_kit import small_bank, solve
from tests.tui.waiting import until

INCIDENT = "huge-lr"
MOMENTS = ("typing", "dialog", "running", "measuring")
STAY_S = 120.0


async def main(folder: Path, moment: str) -> None:
    """Come to the moment and stay there."""
    with Store.open(folder / "quizapp.db") as store:
        study = Study(small_bank(), store, Settings())
        known = archive.running(study)
        interview = begin(study) if known is None else Interview.resume(study, known.document)
        app = QuizApp("mock", study=study)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            item = interview.session.items[0]
            ended = interview.session.ended
            if ended:
                interview.propose()
            await app.push_screen(MarkScreen(interview) if ended else RunScreen(interview))
            say("began", f"{time.time():.3f}")
            if ended or moment == "measuring":
                await measure(pilot, interview, item)
            elif moment == "dialog":
                await (ask_run(pilot) if item.live_work.committed else ask(pilot, item))
            elif moment == "typing":
                await write(pilot, item)
            else:
                await run(pilot, item)
            await asyncio.sleep(STAY_S)


def begin(study: Study) -> Interview:
    """Begin the incident, answered but for its commit."""
    interview = Interview.begin_incident(study, INCIDENT, live=LiveMode.CLOCK, library=load_library(), seed=1)
    interview.start()
    solve(interview)
    interview.save()
    return interview


async def ask(pilot: Pilot[None], item: InterviewQuestion, answer: str = "") -> None:
    """Come to the question whether to commit; answer it with a key."""
    if item.live_work.committed:
        return
    await until(pilot, lambda: item.live_work.broken_run is not None)
    await pilot.press("f4", "c")
    await until(pilot, lambda: isinstance(pilot.app.screen, Choose))
    say("dialog")
    if answer:
        await pilot.press(*answer.split())
        await until(pilot, lambda: item.live_work.committed)
        say("committed")


async def ask_run(pilot: Pilot[None]) -> None:
    """Come to the question which command to run."""
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandDialog))
    say("dialog")


async def write(pilot: Pilot[None], item: InterviewQuestion) -> None:
    """Type comments into the script, a key at a time."""
    await ask(pilot, item, "down enter")
    await pilot.press("f5")
    screen = pilot.app.screen
    assert isinstance(screen, RunScreen)
    editor = screen.incident.desk.editor
    rng = random.Random()
    # Each sitting writes a line of its own above those of the killed ones.
    await pilot.press("ctrl+home", "enter", "up", "#")
    for _ in range(2000):
        before = len(editor.text)
        await pilot.press(rng.choice("abcdefgh"))
        if len(editor.text) > before:
            say("typed", f"{time.time():.3f}", str(len(editor.text)))
        await asyncio.sleep(0.02)


async def run(pilot: Pilot[None], item: InterviewQuestion) -> None:
    """Run the script, again and again."""
    await ask(pilot, item, "down enter")
    while True:
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        desk = screen.incident.desk
        await until(pilot, lambda: not desk.is_running)  # noqa: B023 - awaited here
        count = len(item.live_work.runs)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandDialog))
        await pilot.press(*"256", "space", "8", "enter")
        await until(pilot, lambda: len(item.live_work.runs) > count)  # noqa: B023 - awaited here
        say("running", str(count + 1))
        await until(pilot, lambda: bool(desk._lines) or not desk.is_running)  # noqa: B023 - awaited here
        say("line", str(count + 1))
        await until(pilot, lambda: not desk.is_running)  # noqa: B023 - awaited here
        say("ended", str(count + 1))


async def measure(pilot: Pilot[None], interview: Interview, item: InterviewQuestion) -> None:
    """Hand in, and decide points of the answer while the judge measures."""
    if not interview.session.ended:
        await ask(pilot, item, "down enter")
        await pilot.press("f5")
        assert isinstance(pilot.app.screen, RunScreen)
        pilot.app.screen.incident.desk.editor.load_text(item.live_task.healthy)
        while not isinstance(pilot.app.screen, MarkScreen):
            await pilot.press("ctrl+r")
            if interview.session.items[0].state == "confidence":
                await pilot.press("4")
            await pilot.pause()
    say("handed")
    screen = pilot.app.screen
    measured, keys = item.live_work.measured is not None, list("nynyny")
    while pilot.app.screen is screen:
        if item.live_work.measured is not None and not measured:
            measured = True
            say("measured")
        if keys:
            await pilot.press(keys.pop())
            say("marked", ticks(interview))
        await pilot.pause(0.05)


def ticks(interview: Interview) -> str:
    """What the learner said to each key point, as a word of zeros and ones."""
    marking = interview.markings[0]
    assert isinstance(marking, IncidentMarking)
    return "".join(str(int(point.ticked)) for point in marking.points)


def say(*parts: str) -> None:
    """Acknowledge, at once."""
    sys.stdout.write(" ".join(parts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
