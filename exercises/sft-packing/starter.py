"""SFT batches: loss mask, shift, and packing of conversations."""

from collections.abc import Mapping, Sequence

from torch import Tensor

# Token ids, and True where a token is to be learned.
Example = tuple[list[int], list[bool]]


def encode_chat(
    turns: Sequence[tuple[str, Sequence[int]]],
    special: Mapping[str, int],
) -> Example:
    """One conversation of (role, token ids) turns as an example.

    ``special`` has the ids of "bos", "eot" and of each role.
    """
    raise NotImplementedError


def collate(
    examples: Sequence[Example],
    pad_id: int,
    max_length: int | None = None,
) -> dict[str, Tensor]:
    """A padded batch.

    ``input_ids`` and ``labels`` are int64 (B, T), ``attention_mask`` is
    bool (B, T).
    """
    raise NotImplementedError


def causal_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of logits (B, T, V) and labels (B, T)."""
    raise NotImplementedError


def pack(
    examples: Sequence[Example],
    length: int,
    pad_id: int,
) -> dict[str, Tensor]:
    """Several examples per row of fixed length.

    ``input_ids``, ``labels``, ``position_ids`` and ``document_ids`` are
    int64 (R, length).
    """
    raise NotImplementedError


def document_mask(document_ids: Tensor) -> Tensor:
    """(R, T) to bool (R, 1, T, T), True where i may attend to j."""
    raise NotImplementedError
