"""The question bank: content read from YAML, its formulas, and the marking of answers.

The enums are here rather than in `model` because the command-line parser offers their values, and importing
`dataclasses` would double the time of ``quizapp --help``.
"""

from enum import StrEnum


class Level(StrEnum):
    """How hard a question, an exercise or an incident is, in ascending order."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class QuestionKind(StrEnum):
    """How a question is asked and marked."""

    RECALL = "recall"
    NUMERIC = "numeric"
    CHOICE = "choice"
    ORDER = "order"
    CLOZE = "cloze"


class PointKind(StrEnum):
    """What part of a good answer a key point is."""

    CORE = "core"
    TRADE_OFF = "trade-off"
    PRODUCTION = "production"


LEVELS = tuple(level.value for level in Level)
KINDS = tuple(kind.value for kind in QuestionKind)
ROLES = ("applied-fine-tuning", "training-infrastructure", "research-engineer", "post-training")
TRACKS = ("core", *ROLES)
