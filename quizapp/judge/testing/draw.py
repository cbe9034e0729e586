"""Random inputs for probes, reproducible from the seed of a grade."""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class Draw:
    """Samples plain numbers and CPU tensors; the same seed always gives the same values."""

    def __init__(self, seed: int):
        self._plain = random.Random(seed)  # noqa: S311 - reproducible inputs, not secrets
        self._tensor = torch.Generator().manual_seed(self._plain.getrandbits(62))

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return self._plain.randint(low, high)

    def uniform(self, low: float, high: float) -> float:
        """A float between ``low`` and ``high``."""
        return self._plain.uniform(low, high)

    def choice(self, values: Sequence[T]) -> T:
        """One of ``values``."""
        return self._plain.choice(values)

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """``count`` of ``values``, without replacement, in random order."""
        return self._plain.sample(values, count)

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """All of ``values`` in random order."""
        return self._plain.sample(values, len(values))

    def sizes(self, count: int, low: int = 3, high: int = 11) -> list[int]:
        """``count`` different sizes, none a power of two. Transposing a tensor then changes its shape."""
        return self.sample([n for n in range(low, high + 1) if n & (n - 1)], count)

    def seed(self) -> int:
        """A seed for another generator, below 2**31."""
        return self._plain.getrandbits(31)

    def normal(
        self, *shape: int, scale: float = 1.0, shift: float = 0.0, dtype: Any = torch.float32
    ) -> Tensor:
        """Normally distributed values, sampled in float64 and then cast to ``dtype``."""
        values = torch.randn(shape, generator=self._tensor, dtype=torch.float64)
        return (values * scale + shift).to(dtype)

    def rand(self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: Any = torch.float32) -> Tensor:
        """Uniform values in [low, high)."""
        values = torch.rand(shape, generator=self._tensor, dtype=torch.float64)
        return (values * (high - low) + low).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """int64 values from ``low`` to ``high - 1``."""
        return torch.randint(low, high, shape, generator=self._tensor)

    def permutation(self, count: int) -> Tensor:
        """A random order of ``range(count)`` as int64."""
        return torch.randperm(count, generator=self._tensor)
