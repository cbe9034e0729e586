"""Byte-level BPE: train, encode, decode."""

from collections.abc import Iterable, Sequence

PATTERN = r" ?\w+| ?[^\w\s]+|\s+"  # pre-tokens: re.findall(PATTERN, text)


def train(
    text: str,
    num_merges: int,
    special_tokens: Sequence[str] = (),
) -> list[tuple[int, int]]:
    """The merges, in order; merge i makes token 256 + i."""
    raise NotImplementedError


class Tokenizer:
    """Bytes are tokens 0 to 255, then come merges, then special tokens.

    ``vocab_size`` is an attribute or a property.
    """

    def __init__(
        self,
        merges: Sequence[tuple[int, int]],
        special_tokens: Sequence[str] = (),
    ):
        raise NotImplementedError

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token."""
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        raise NotImplementedError

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens."""
        raise NotImplementedError
