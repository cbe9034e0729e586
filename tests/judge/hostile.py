"""Submissions that attack the judge or the machine, by kind. Each is wrong code: none may pass."""

from tests.judge.attacks import evidence, machine, poisons, runs  # noqa: F401 - importing them fills ALL
from tests.judge.attacks.kit import ALL, Hostile

__all__ = ["ALL", "Hostile"]
