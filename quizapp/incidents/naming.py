"""Finding an incident by what somebody types."""

from quizapp.errors import UnknownName
from quizapp.incidents.model import Incident, Library
from quizapp.util.suggest import did_you_mean

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
    if begin:
        names = sorted(begin)
        hint = f"several begin so: {', '.join(names[:MOST_NEAR])}{', ...' * (len(names) > MOST_NEAR)}"
    else:
        hint = did_you_mean(wanted, by_word, "'quizapp incident | cat' lists them", most=MOST_NEAR)
    raise UnknownName(f"there is no incident '{text}'; {hint}")
