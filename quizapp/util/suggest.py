"""The end of an error message about a name that does not exist."""

from collections.abc import Iterable


def did_you_mean(name: str, choices: Iterable[str], otherwise: str = "", *, most: int = 3) -> str:
    """Name the closest of ``choices`` as a question, or return ``otherwise`` where none is close.

    ``did you mean 'lora' or 'dora'?``
    """
    from difflib import get_close_matches  # 3 ms, only for a message

    close = get_close_matches(name, list(choices), most)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
