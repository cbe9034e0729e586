"""Suggestions for the end of an error message about an unknown name."""

from collections.abc import Iterable


def did_you_mean(name: str, choices: Iterable[str], otherwise: str = "", *, most: int = 3) -> str:
    """Suggest the closest of ``choices``, as in ``did you mean 'lora' or 'dora'?``.

    Returns ``otherwise`` if none is close.
    """
    from difflib import get_close_matches  # 3 ms, only for a message

    close = get_close_matches(name, list(choices), most)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
