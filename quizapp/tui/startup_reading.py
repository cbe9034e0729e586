"""What is read before the data is open: the extra decks, and whether the tour was seen."""

from pathlib import Path

from quizapp import paths
from quizapp.errors import QuizError


def extra_decks() -> list[Path]:
    """The user's own decks, as the settings file names them; a wrong file is reported later."""
    from quizapp.settings.model import load_settings

    try:
        return [Path(deck).expanduser() for deck in load_settings(paths.config()).decks]
    except QuizError:
        return []


def _mark() -> Path:
    return paths.home() / "tour-seen"


def tour_due() -> bool:
    """Whether this user has not seen the tour."""
    return not _mark().exists()


def tour_seen() -> None:
    """Remember that the tour was seen; a folder that cannot be written only means that it comes again."""
    try:
        _mark().parent.mkdir(parents=True, exist_ok=True)
        _mark().touch()
    except OSError:
        return
