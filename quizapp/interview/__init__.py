"""Mock interviews: from a paper to a report.

The names of the rounds are here rather than in `rounds` because the command-line parser offers them, and
importing `dataclasses` would double the time of ``quizapp --help``.
"""

from enum import StrEnum


class RoundName(StrEnum):
    """The name of a round, as it is typed and stored."""

    MIXED = "mixed"
    QUIZ = "quiz"
    CONCEPTS = "concepts"
    CODING = "coding"
    DEBUG = "debug"
    REVIEW = "review"
    NAPKIN = "napkin"
    DESIGN = "design"
    PROJECT = "project"
