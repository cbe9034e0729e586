"""Ctrl+z: the program steps aside for the shell, and is drawn anew when it is called back."""

import os
import signal
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from types import FrameType

    from quizapp.tui.app import QuizApp


def to_the_shell(app: "QuizApp") -> None:
    """Stop until the shell continues us; what is typed is saved first, for the shell may end us instead.

    The judge runs in a session of its own and goes on; its answer waits in its socket.
    """
    if not hasattr(signal, "SIGTSTP"):
        app.say("This system has no shell to step aside to; open another window.", bad=True)
        return
    app.keep_typed()
    try:
        with app.suspend():
            returned = _stop()
    except SuspendNotSupported:
        app.say("This terminal cannot be handed over; open another window.", bad=True)
        return
    app.refresh(layout=True)
    if not returned:
        app.say("No shell waits behind the program, so it stays; ctrl+q leaves it.")


def _stop() -> bool:
    """Stop the process group, as the terminal itself would; False where no shell could continue it.

    The whole group, for a shell waits for what it started (``make run``), not for us. The kernel ignores
    a stop of a group that nobody can continue.
    """
    continued: list[int] = []

    def note(number: int, frame: "FrameType | None") -> None:
        del frame
        continued.append(number)

    before = [(name, signal.getsignal(name)) for name in (signal.SIGTSTP, signal.SIGCONT)]
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    signal.signal(signal.SIGCONT, note)
    try:
        os.kill(0, signal.SIGTSTP)
    finally:
        for name, handler in before:
            signal.signal(name, handler)
    return bool(continued)
