"""Finding an incident by what somebody types."""

from difflib import get_close_matches

from quizapp.errors import UnknownName
from quizapp.incidents.model import Incident, Library

MOST_NEAR = 3


def find_incident(library: Library, text: str) -> Incident:
    """The incident of that id or name, or of which one of them alone begins so. Raises ``UnknownName``."""
    wanted = text.strip().casefold()
    by_word = {word: one for one in library.incidents.values() for word in (one.name, one.id)}
    if wanted in by_word:
        return by_word[wanted]
    begin = {word: one for word, one in by_word.items() if wanted and word.startswith(wanted)}
    if len({one.id for one in begin.values()}) == 1:
        return next(iter(begin.values()))
    near = sorted(begin) or get_close_matches(wanted, list(by_word), MOST_NEAR)
    hint = "'quizapp incident | cat' lists them"
    if begin:
        hint = f"several begin so: {', '.join(near[:MOST_NEAR])}{', ...' * (len(near) > MOST_NEAR)}"
    elif near:
        hint = f"did you mean {' or '.join(near)}?"
    raise UnknownName(f"there is no incident '{text}'; {hint}")
