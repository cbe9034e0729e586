"""What can be done with a card besides rating it: put off, suspend, flag, start over, undo and redo.

Each function does one act in the schedule and returns what the drill has to say and to show after it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.scheduling.events import EventType

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study
    from quizapp.tui.rendering.card_text import PreparedCard
    from quizapp.tui.screens.drill.session_summary import DrillSession


@dataclass(frozen=True, slots=True)
class ActResult:
    """The outcome of an act: a sentence, and whether to ``leave`` the card or show one ``again``, by id."""

    notice: str
    failed: bool = False
    leave: bool = False
    again: str = ""
    typed: str = ""
    """The words of an answer that was undone."""


def bury(study: "Study", card: "PreparedCard | None") -> ActResult | None:
    """Put the card off until tomorrow. None if no card is on the screen."""
    return _act(card, study.bury, "Put off until tomorrow; u takes it back.", leave=True)


def suspend(study: "Study", card: "PreparedCard | None") -> ActResult | None:
    """Take the card out of the queue. None if no card is on the screen."""
    return _act(card, study.suspend, "Suspended; u takes it back.", leave=True)


def flag(study: "Study", card: "PreparedCard | None") -> ActResult | None:
    """Flag the card, or remove its flag. None if no card is on the screen."""
    if card is not None and study.card(card.id).flagged:
        return _act(card, study.unflag, "Flag removed.")
    return _act(card, study.flag, "Flagged.")


def _act(
    card: "PreparedCard | None", act: Callable[[str], object], notice: str, *, leave: bool = False
) -> ActResult | None:
    if card is None:
        return None
    try:
        act(card.id)
    except QuizError as error:
        return ActResult(str(error), failed=True)
    return ActResult(notice, leave=leave)


def treat_as_new(study: "Study", card: "PreparedCard | None") -> ActResult:
    """Begin a changed question again as new."""
    if card is None or not study.changed(card.id):
        return ActResult("This question has not changed since you last saw it.")
    study.acknowledge(card.id, treat_as_new=True)
    return ActResult("The question starts again as new.", again=card.id)


def undo(study: "Study", session: "DrillSession") -> ActResult:
    """Undo the last act. An undone answer no longer counts in the session."""
    undone = study.undo()
    if undone is None:
        return ActResult("Nothing to undo.")
    typed = session.undo(undone.card) if undone.type == EventType.ANSWER else ""
    return ActResult(f"Undone: {undone.type}.", again=undone.card, typed=typed)


def redo(study: "Study") -> ActResult:
    """Redo what the last undo took back."""
    redone = study.redo()
    if redone is None:
        return ActResult("Nothing to redo.")
    return ActResult(f"Redone: {redone.type} of {redone.card}.", leave=True)
