"""Suggestions for the end of an error message about an unknown name."""

from collections.abc import Iterable

_WORD_CUTOFF = 0.8  # stricter than for whole names, since short words resemble each other


def did_you_mean(name: str, choices: Iterable[str], otherwise: str = "", *, most: int = 3) -> str:
    """Suggest the closest of ``choices``, as in ``did you mean 'lora' or 'dora'?``.

    A choice of several words is close if one of them is. Returns ``otherwise`` if none is close.
    """
    from difflib import get_close_matches  # 3 ms, only for a message

    names = list(choices)
    close = get_close_matches(name, names, most)
    if not close:
        close = [other for other in names if get_close_matches(name, other.split("-"), 1, _WORD_CUTOFF)][
            :most
        ]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
