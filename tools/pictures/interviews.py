"""Prepares mock interviews for their pictures, with real questions and a clock moved by hand."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from textual.pilot import Pilot

from quizapp.interview.service import Interview
from quizapp.interview.session.question import InterviewQuestion
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from tests.interview.mock_kit import Hand, answer_now, begin, sit, solve

Doing = Callable[[Pilot[int]], Awaitable[None]]
Wanted = Callable[[InterviewQuestion], bool]
ROLE = "training-infrastructure"
WORDS = "The second moment is averaged over few gradients, so its estimate is noisy in the first steps"
POOR = "I would look at the loss and lower the learning rate, since the gradient is too large then."


def _study(pilot: Pilot[int]) -> Any:
    return pilot.app.study  # type: ignore[attr-defined]


def _upto(pilot: Pilot[int], wanted: Wanted) -> tuple[Interview, Hand]:
    """Begin an interview and answer until the current question is one that is ``wanted``."""
    interview, hand = begin(_study(pilot), ROLE, 45, seed=5)
    session = interview.session
    session.proceed()
    for number in range(60):
        if session.item is None or wanted(session.item):
            break
        hand.seconds += 20
        interview.tick()
        if session.item is not None and session.item.state == "open" and session.item.open_follow_up is None:
            answer_now(interview, POOR if number % 3 == 1 else "")
    return interview, hand


def asks(wanted: Wanted, *keys: str, after: float = 0.3) -> Doing:
    """Show an interview at a wanted question with the share ``after`` of its time used, and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        interview, hand = _upto(pilot, wanted)
        screen = RunScreen(interview)
        pilot.app.push_screen(screen)
        await pilot.pause()
        item = interview.session.item
        hand.seconds += 0.0 if item is None else after * item.budget
        screen.tick()
        await pilot.pause()
        pilot.app.clear_notifications()
        await pilot.press(*keys)
        await pilot.pause(0.05)

    return run


def kind(name: str) -> Wanted:
    """Match an open question of a kind."""
    return lambda item: item.kind == name and item.state == "open" and item.open_follow_up is None


def was(name: str) -> Wanted:
    """Match a question of a kind that was reached and has an answer to mark."""
    return lambda item: item.kind == name and item.reached and bool(item.typed or item.code)


async def brief(pilot: Pilot[int]) -> None:
    """Show the brief before the first question."""
    interview, _ = begin(_study(pilot), ROLE, 45, seed=5)
    pilot.app.push_screen(RunScreen(interview))
    await pilot.pause()


async def time_up(pilot: Pilot[int]) -> None:
    """Show the moment after a question was cut while its answer was being typed."""
    interview, hand = _upto(pilot, kind("recall"))
    screen = RunScreen(interview)
    pilot.app.push_screen(screen)
    await pilot.pause()
    await pilot.press(*POOR[:40])
    item = interview.session.item
    while interview.session.item is item:
        hand.seconds += 1.0
        screen.tick()
    await pilot.pause()
    pilot.app.clear_notifications()
    await pilot.pause()


async def sure(pilot: Pilot[int]) -> None:
    """Show the question for the learner's confidence."""
    await asks(kind("recall"), *WORDS, "ctrl+r")(pilot)


async def followed(pilot: Pilot[int]) -> None:
    """Show a follow-up question."""
    await asks(kind("recall"), *WORDS, "ctrl+r", "4")(pilot)


async def wrapped(pilot: Pilot[int]) -> None:
    """Show the wrap-up after the last question."""
    await asks(lambda _item: False)(pilot)


def _sat(pilot: Pilot[int], seed: int, role: str = ROLE) -> Interview:
    interview, hand = begin(_study(pilot), role, 45, seed=seed)
    sit(interview, hand, seed)
    if not interview.session.ended:
        interview.session.end("early")
    return interview


def marks(wanted: Wanted, *keys: str) -> Doing:
    """Show the marking of a wanted question, and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        interview = _sat(pilot, 8)
        interview.propose()
        screen = MarkScreen(interview)
        pilot.app.push_screen(screen)
        await pilot.pause()
        for _ in interview.session.items:
            if wanted(screen.item):
                break
            await pilot.press("right")
            await pilot.pause()
        await pilot.press(*keys)

    return run


def card(*keys: str) -> Doing:
    """Show the scorecard of an interview, and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        pilot.app.push_screen(CardScreen(_sat(pilot, 8).record()))
        await pilot.pause()
        await pilot.press(*keys)

    return run


def past(*keys: str) -> Doing:
    """Show the start screen after five interviews in three weeks, and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        clock = _study(pilot).clock
        now = clock.time
        for number, days in enumerate((22, 15, 9, 4, 3)):
            clock.time = now - timedelta(days=days)
            _sat(pilot, 3 + number, ROLE if number % 2 else "research-engineer").record()
        clock.time = now
        pilot.app.screen.returned()  # type: ignore[attr-defined]
        await pilot.press(*keys)
        await pilot.pause(0.1)

    return run


def _run_done(pilot: Pilot[int], name: str, text: str) -> None:
    interview = Interview.begin_incident(_study(pilot), name, seed=2, clock=(hand := Hand()))
    interview.start()
    hand.seconds += 200
    interview.session.tick(present=True)
    solve(interview, text)
    interview.session.submit()
    interview.session.confide(75)
    interview.record()


def run_card(*keys: str) -> Doing:
    """Show the scorecard of a broken run whose diagnosis is partly right, and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        interview = Interview.begin_incident(_study(pilot), "double-softmax", seed=2, clock=(hand := Hand()))
        interview.start()
        hand.seconds += 200
        interview.session.tick(present=True)
        solve(interview)
        interview.session.hint()
        interview.session.commit("place", "nothing")
        interview.session.submit()
        interview.session.confide(75)
        pilot.app.push_screen(CardScreen(interview.record()))
        await pilot.pause()
        await pilot.press(*keys)

    return run


def runs_had(*keys: str) -> Doing:
    """Show the list of broken runs after four of them were diagnosed, and press keys."""

    async def run(pilot: Pilot[int]) -> None:
        clock = _study(pilot).clock
        now = clock.time
        for number, name in enumerate(("dead-relu", "nan-row", "double-softmax", "label-shift")):
            clock.time = now - timedelta(days=20 - 6 * number)
            _run_done(pilot, name, POOR if number % 2 else "")
        clock.time = now
        pilot.app.screen.opened()  # type: ignore[attr-defined]
        await pilot.press(*keys)
        await pilot.pause(0.1)

    return run


async def run_cut(pilot: Pilot[int]) -> None:
    """Show the list of broken runs while one is not finished."""
    interview = Interview.begin_incident(_study(pilot), "double-softmax", seed=2, clock=Hand())
    interview.start()
    pilot.app.screen.returned()  # type: ignore[attr-defined]
    await pilot.pause()


async def cut(pilot: Pilot[int]) -> None:
    """Show the start screen while an interview is not finished."""
    _upto(pilot, kind("recall"))[0].save()
    pilot.app.screen.returned()  # type: ignore[attr-defined]
    await pilot.pause()
