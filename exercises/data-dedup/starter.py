"""Data dedup: MinHash near-duplicates and decontamination."""

from collections.abc import Sequence


def shingles(text: str, n: int = 5) -> set[str]:
    """All runs of n consecutive words, joined by single spaces; a shorter text
    is one shingle.
    """
    raise NotImplementedError


def signature(
    items: set[str],
    num_hashes: int = 128,
    seed: int = 0,
) -> list[int]:
    """The minimum of each of ``num_hashes`` hash functions over the set."""
    raise NotImplementedError


def near_duplicates(
    texts: Sequence[str],
    threshold: float = 0.7,
    n: int = 5,
) -> list[list[int]]:
    """Connected groups of texts whose shingle sets have at least this Jaccard
    similarity.
    """
    raise NotImplementedError


def contaminated(
    train: Sequence[str],
    evals: Sequence[str],
    n: int = 13,
) -> list[int]:
    """Indices of training texts that share a run of n words with an evaluation
    text.
    """
    raise NotImplementedError
